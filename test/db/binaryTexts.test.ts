// Texts and bytes that go to Postgres in one binary parameter arrive as they are.
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { binaryBytes, binaryTexts, textsOf } from '../../db/binaryTexts.ts'
import { createTestDatabase } from '../setup/database.ts'

const { pool } = await createTestDatabase()

async function stored(texts: (string | null)[]): Promise<(string | null)[]> {
  const { rows } = await pool.query<{ texts: (string | null)[] }>('select $1::text[] as texts', [
    binaryTexts(texts),
  ])
  return rows[0]?.texts ?? []
}

const lengths = [126, 127, 128, 129, 255, 256]
const ofLength = (length: number) => 'x'.repeat(length)

it('arrive as they are, whatever they hold, and nulls stay nulls', async () => {
  const text = fc
    .string({ unit: 'binary', maxLength: 300 })
    .filter((one) => one.isWellFormed() && !one.includes('\0'))
  const any = fc.array(fc.option(text), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(any, async (texts) => {
      expect(await stored(texts)).toEqual(texts)
      expect(textsOf(binaryTexts(texts))).toEqual(texts)
    }),
    { numRuns: 200 },
  )
  const odd = ['', 'NULL', 'null', '{"a"}', '\\', '"', 'é€😀', 'x'.repeat(70_000), null]
  expect(await stored(odd)).toEqual(odd)
})

it('arrive as they are where all are short and ASCII, or but one is', async () => {
  const text = fc
    .string({ unit: 'binary-ascii', maxLength: 130 })
    .filter((one) => !one.includes('\0'))
  const last = fc.constantFrom(...['', 'a', 'é', '😀', '\u0080', null, ...lengths.map(ofLength)])
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 20 }), last, async (texts, one) => {
      const all = [...texts, one]
      expect(await stored(all)).toEqual(all)
      expect(textsOf(binaryTexts(all))).toEqual(all)
    }),
    { numRuns: 200 },
  )
})

it('are not read from other bytes', () => {
  expect(textsOf(Buffer.from('what is no array'))).toBeUndefined()
})

it('with U+0000 are refused', async () => {
  await expect(stored(['a\0b'])).rejects.toMatchObject({ code: '22021' })
})

it('arrive as they are where they are bytes', async () => {
  const bytes = fc.uint8Array({ maxLength: 300 }).map((one) => Buffer.from(one))
  const any = fc.array(fc.option(bytes), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(any, async (values) => {
      const { rows } = await pool.query<{ values: (Buffer | null)[] }>(
        'select $1::bytea[] as values',
        [binaryBytes(values)],
      )
      expect(rows[0]?.values).toEqual(values)
    }),
    { numRuns: 200 },
  )
})
