// A worker begins to delete the contacts of a deleted audience by itself, and after kill -9 in the middle another one ends it.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { insertContacts, rowsOf } from '../setup/deletedAudiences.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'

const CONTACTS = 30_000
const database = await createTestDatabase()

test('killed in the middle, twice, nothing is left in the end', { timeout: 300_000 }, async () => {
  const h = await createHarness(database)
  const deadline = { deadline_ms: 120_000 }
  const made = await h.request<{ id: string }>('POST', '/v1/audiences', { name: 'Large' })
  const path = `/v1/audiences/${made.body.id}`
  await insertContacts(h.db, h.workspaceId, made.body.id, CONTACTS)
  const [worker] = h.workers
  expect((await h.request('DELETE', path)).status).toBe(204)
  await h.db.transaction().execute(async (trx) => {
    // So that the end is not reached before the worker is killed, however fast it is.
    await sql`select from audience_contacts where audience_id = ${made.body.id}
      order by email desc limit 1000 for update`.execute(trx)
    for (const most of [CONTACTS, CONTACTS / 2]) {
      await eventually(async () => {
        const [left] = await rowsOf(h.db, made.body.id)
        expect(left).toBeLessThan(most)
      }, deadline)
      await worker?.kill()
      const [left, own] = await rowsOf(h.db, made.body.id)
      expect(left).toBeGreaterThan(0)
      expect([left % 1_000, own]).toEqual([0, 1])
      expect((await h.request('GET', path)).status).toBe(404)
      await worker?.start()
    }
  })
  await eventually(async () => {
    expect(await rowsOf(h.db, made.body.id)).toEqual([0, 0])
  }, deadline)
})
