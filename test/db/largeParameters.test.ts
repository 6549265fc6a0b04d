// Large parameters go to Postgres as they are, among small ones and nulls, and none of their bytes is copied.
import type { Socket } from 'node:net'
import { sql } from 'kysely'
import { expect, it, vi } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'

const { db, pool } = await createTestDatabase()

const MEBIBYTE = 1024 * 1024
const large = Buffer.alloc(3 * MEBIBYTE, 'é"\\ ')
const other = Buffer.alloc(MEBIBYTE, 'x')
/** The least that is not left to pg. */
const least = Buffer.alloc(16 * 1024, 'y')

it.each([
  ['named', 'large_parameters'],
  ['without a name', undefined],
])('of a statement %s', async (_, name) => {
  for (let time = 0; time < 2; time++) {
    const { rows } = await pool.query({
      ...(name ? { name } : {}),
      text: `select $1::text = $6::text as same, octet_length($2::bytea) as bytes, $3::text as text, $4::int as number,
        $5::text as nothing, $7::text[] as list, octet_length($8::bytea) as least`,
      values: [large, other, 'é\u{1f600}', 7, null, large, ['a', 'b'], least],
    })
    expect(rows).toEqual([
      {
        same: true,
        bytes: MEBIBYTE,
        text: 'é\u{1f600}',
        number: 7,
        nothing: null,
        list: ['a', 'b'],
        least: 16 * 1024,
      },
    ])
  }
})

it('are what was given, byte for byte, and an error after them is told as any other', async () => {
  const { rows } = await sql<{ bytes: Buffer }>`select ${large}::bytea as bytes`.execute(db)
  expect(rows[0]?.bytes.equals(large)).toBe(true)
  const broken = Buffer.concat([large, Buffer.from([0xff])])
  await expect(sql`select ${broken}::text`.execute(db)).rejects.toMatchObject({ code: '22021' })
  await expect(sql`select ${large}::text, ${1}::int / 0`.execute(db)).rejects.toMatchObject({
    code: '22012',
  })
  expect((await sql`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }])
})

it.each([
  ['the least that is not copied', least, true],
  ['one byte less, which is left to pg', least.subarray(1), false],
])('go to the connection as the same bytes: %s', async (_, bytes, isSame) => {
  const client = await pool.connect()
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  const write = vi.spyOn(stream, 'write')
  const { rows } = await client.query('select octet_length($1::bytea) as bytes', [bytes])
  const written = write.mock.calls.map(([chunk]) => chunk)
  write.mockRestore()
  client.release()
  expect(rows).toEqual([{ bytes: bytes.length }])
  expect(written.some((chunk) => (chunk as unknown) === bytes)).toBe(isSame)
})

it('go with the begin of a transaction, of which they are in the first statement', async () => {
  for (let time = 0; time < 3; time++) {
    const rows = await db.transaction().execute(async (trx) => {
      const { rows: first } = await sql<{ bytes: number }>`
        select octet_length(${large}::bytea) + octet_length(${least}::bytea) as bytes`.execute(trx)
      await sql`savepoint only_within_a_transaction`.execute(trx)
      return first
    })
    expect(rows).toEqual([{ bytes: large.length + least.length }])
  }
})
