// The database accepts exactly the kinds of outbox rows that the code has.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { outboxKinds } from '../../rules/wire.ts'
import { createTestDatabase } from '../setup/database.ts'

const { db } = await createTestDatabase()

test('the check of the outbox lists the kinds of the code', async () => {
  const { rows } = await sql<{ definition: string }>`
    select pg_get_constraintdef(oid) as definition from pg_constraint where conname = 'outbox_kind_check'
  `.execute(db)
  const kinds = [...(rows[0]?.definition ?? '').matchAll(/'(\w+)'::text/g)].map(([, kind]) => kind)
  expect(kinds.sort()).toEqual([...outboxKinds].sort())
})
