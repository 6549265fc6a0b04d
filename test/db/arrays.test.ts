// Arrays that are parameters of a statement arrive as they are, whether we write their text or pg does.
import * as fc from 'fast-check'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { toParameter } from '../../db/arrays.ts'
import { createTestDatabase } from '../setup/database.ts'

const { db } = await createTestDatabase()

async function answered(type: string, value: unknown): Promise<unknown> {
  const { rows } = await sql<{
    value: unknown
  }>`select ${value}::${sql.raw(type)} as value`.execute(db)
  return rows[0]?.value
}

it('of texts arrive as they are, whatever they hold, and nulls stay nulls', async () => {
  const text = fc
    .string({ unit: 'binary', maxLength: 40 })
    .filter((one) => one.isWellFormed() && !one.includes('\0'))
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(text), { maxLength: 20 }), async (texts) => {
      expect(await answered('text[]', texts)).toEqual(texts)
    }),
    { numRuns: 200 },
  )
  const odd = ['', 'NULL', 'null', '{a,b}', ',', ' a ', '\\', '"', '\n', '\u2028', 'é€😀', null]
  for (const one of [odd, ...odd.map((text) => [text])]) {
    expect(await answered('text[]', one)).toEqual(one)
  }
})

it('of numbers and of truth values arrive as they are', async () => {
  const numbers = fc.array(fc.option(fc.double({ noDefaultInfinity: true, noNaN: true })))
  await fc.assert(
    fc.asyncProperty(numbers, async (values) => {
      // Postgres has a negative zero, and so does pg; no column of ours tells it from the other.
      const without = values.map((one) => (Object.is(one, -0) ? 0 : one))
      expect(await answered('float8[]', without)).toEqual(without)
    }),
    { numRuns: 100 },
  )
  const whole = [1, -2, Number.MAX_SAFE_INTEGER]
  expect(await answered('int8[]', whole)).toEqual(whole.map(String))
  expect(await answered('bool[]', [true, false, null])).toEqual([true, false, null])
})

it('of other elements, and with what has to be escaped, are left to pg', async () => {
  const left = [[NaN], [[1], [2]], [Buffer.from('a')], [new Date(0)], ['a"'], ['a\nb'], [{ a: 1 }]]
  for (const one of left) expect(toParameter(one)).toBe(one)
  for (const one of ['{1}', 5, null, Buffer.from('a')]) expect(toParameter(one)).toBe(one)
  expect(await answered('int4[]', [[1], [2]])).toEqual([[1], [2]])
  expect(await answered('float8[]', [NaN, Infinity])).toEqual([NaN, Infinity])
})

it('without anything to escape are sent as their text', () => {
  expect(toParameter(['a', null, 'NULL', ''])).toBe('{"a",null,"NULL",""}')
  expect(toParameter([1, -2.5, 1e21, true])).toBe('{1,-2.5,1e+21,true}')
  expect(toParameter([])).toBe('{}')
})

it('with U+0000 are refused', async () => {
  await expect(answered('text[]', ['a\0b'])).rejects.toMatchObject({ code: '22021' })
})
