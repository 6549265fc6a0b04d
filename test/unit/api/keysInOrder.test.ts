// Keys of a JSON text are returned in its order, whatever their names.
import { expect, test } from 'vitest'
import { keysInOrder } from '../../../api/http/keysInOrder.ts'

test.each([
  ['{"properties":{"b":1,"2":{"x":[{"y":1}]},"1":[1,{"z":2}],"a":null}}', ['b', '2', '1', 'a']],
  [
    '{"other":{"x":1},"properties":{"k":"{\\"no\\": 1,","\\u0061\\"b":1},"z":{"w":2}}',
    ['k', 'a"b'],
  ],
  ['{"properties":{"x":1},"properties":{"y":1,"y":2,"__proto__":3}}', ['y', '__proto__']],
  ['{"nested":{"properties":{"x":1}},"list":[{"properties":{"y":1}}],"properties":{"z":1}}', ['z']],
  ['{"properties":{"a":"properties","b":"\\\\"}}', ['a', 'b']],
])('%s', (text, keys) => {
  expect(keysInOrder(text, 'properties')).toEqual(keys)
})

test('a text of the largest allowed size is read', () => {
  const text = JSON.stringify({ properties: { long: 'x'.repeat(1 << 20), 1: '\\'.repeat(1000) } })
  expect(keysInOrder(text, 'properties')).toEqual(['1', 'long'])
})
