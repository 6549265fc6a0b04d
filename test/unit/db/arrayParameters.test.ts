// Which array parameters are sent as texts, and which are left to pg.
import { expect, test } from 'vitest'
import { toParameter } from '../../../db/arrayParameters.ts'

test('arrays without anything to escape are sent as their text', () => {
  expect(toParameter(['a', null, 'NULL', '', undefined])).toBe('{"a",null,"NULL","",null}')
  expect(toParameter([1, -2.5, 1e21, true])).toBe('{1,-2.5,1e+21,true}')
  expect(toParameter([])).toBe('{}')
})

test.each([
  ['a number that JSON has not', [NaN]],
  ['arrays', [[1], [2]]],
  ['bytes', [Buffer.from('a')]],
  ['times', [new Date(0)]],
  ['a quote', ['a"']],
  ['a backslash', ['a\\']],
  ['a line break', ['a\nb']],
  ['half a surrogate pair', ['\ud800']],
  ['U+0000', ['a\0b']],
  ['objects', [{ a: 1 }]],
  ['large whole numbers', [1n]],
])('arrays with %s are left to pg', (_, elements) => {
  expect(toParameter(elements)).toBe(elements)
})

test('all else is sent as it is', () => {
  for (const one of ['{1}', 5, null, undefined, Buffer.from('a')])
    expect(toParameter(one)).toBe(one)
})
