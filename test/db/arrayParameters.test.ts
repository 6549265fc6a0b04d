// Arrays that are parameters of a statement arrive as they are, whether we write their text or pg does.
import * as fc from 'fast-check'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'

const { db } = await createTestDatabase()

async function answered(type: string, value: unknown): Promise<unknown> {
  const { rows } = await sql<{
    value: unknown
  }>`select ${value}::${sql.raw(type)} as value`.execute(db)
  return rows[0]?.value
}

it('of texts arrive as they are, whatever they hold, and nulls stay nulls', async () => {
  const unit = fc.oneof(
    fc.constantFrom('"', '\\', '{', '}', ',', ' ', '\n', 'N', 'é', '😀'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  )
  const text = fc
    .string({ unit, maxLength: 40 })
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
      // -0 is sent as 0, by pg too.
      const sent = values.map((one) => (Object.is(one, -0) ? 0 : one))
      expect(await answered('float8[]', values)).toEqual(sent)
    }),
    { numRuns: 100 },
  )
  const whole = [1, -2, Number.MAX_SAFE_INTEGER]
  expect(await answered('int8[]', whole)).toEqual(whole.map(String))
  expect(await answered('bool[]', [true, false, null])).toEqual([true, false, null])
})

it('of other elements are written by pg as before', async () => {
  expect(await answered('int4[]', [[1], [2]])).toEqual([[1], [2]])
  expect(await answered('float8[]', [NaN, Infinity])).toEqual([NaN, Infinity])
  const time = new Date('2026-01-02T03:04:05.678Z')
  expect(await answered('timestamptz[]', [time])).toEqual([time])
  expect(await answered('jsonb[]', [{ a: '"' }, null])).toEqual([{ a: '"' }, null])
})

it('with U+0000 are refused', async () => {
  await expect(answered('text[]', ['a\0b'])).rejects.toMatchObject({ code: '22021' })
})
