// After a restore of Postgres: what the docs say keeps the mail that it has forgotten apart from what is sent then.
import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { findReportedDelivery } from '../../db/deliveries/reads.ts'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { seedWorkspace } from '../setup/harness.ts'

const { db } = await createTestDatabase()
const to = { db, ...(await seedWorkspace(db)) }
const STATEMENT = /^ *```sql\n([^`]*'deliveries'[^`]*)\n *```$/m

const deliveryOf = async (emailId: string) => {
  const ids = db.selectFrom('deliveries').select('id').where('email_id', '=', emailId)
  return (await ids.executeTakeFirstOrThrow()).id
}
/** Sends a mail, and restores a backup from before it. @returns the number of its delivery */
async function sendAndRestore(): Promise<number> {
  const lost = await acceptMail(to, {})
  const id = await deliveryOf(lost)
  await sql`delete from deliveries where email_id = ${lost}`.execute(db)
  await sql`delete from emails where id = ${lost}`.execute(db)
  await sql`select setval(pg_get_serial_sequence('deliveries', 'id'), ${id}::bigint, false)`.execute(
    db,
  )
  return id
}

test('with the statement of the docs what comes back for forgotten mail finds no other', async () => {
  const lost = await sendAndRestore()
  const [, statement = ''] = STATEMENT.exec(readFileSync('docs/operating.md', 'utf8')) ?? []
  await sql.raw(statement).execute(db)
  expect(await deliveryOf(await acceptMail(to, {}))).toBeGreaterThan(lost + 999_999_999)
  expect(await findReportedDelivery(db, lost)).toBeUndefined()
})
