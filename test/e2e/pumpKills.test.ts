// kill -9 between a settlement and the pump, and in the pump: each mail event is recorded once.
import pg from 'pg'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { auditMailEvents, expectDrained } from '../setup/ledger.ts'
import { startWorker } from '../setup/processes.ts'

const CONTACTS = 40

const database = await createTestDatabase()

test('a killed worker loses no mail event and doubles none', { timeout: 180_000 }, async () => {
  const h = await createHarness(database, { env: { WORKER_ROLES: 'delivery', LEASE_SECONDS: '3' } })
  for (let n = 0; n < CONTACTS; n++) {
    const email = `c${n}@example.test`
    await h.request('POST', '/v1/automation/events', { event_name: 'seen', email })
    const mail = { from: 'hello@sender.test', to: email, subject: 'S', text: 'T' }
    await h.request('POST', '/v1/emails', mail)
  }
  const waiting = async () => {
    const rows = await h.db.selectFrom('outbox').select('kind').execute()
    return rows.filter(({ kind }) => kind === 'mail_event').length
  }
  // The delivery is settled, and no pump runs.
  await eventually(async () => expect(await waiting()).toBe(CONTACTS))
  await h.workers[0]?.kill()
  expect((await auditMailEvents(h.db)).faults).toHaveLength(CONTACTS)

  // Killed in the pump's transaction, which waits for a locked table.
  const holder = new pg.Client({ connectionString: database.url, application_name: 'holder' })
  await holder.connect()
  await holder.query('begin')
  await holder.query('lock table automation_events in share mode')
  const env = { ...h.service.env, WORKER_ROLES: 'executions' }
  const pump = await startWorker({ ...h.service, env })
  await eventually(async () => {
    const { rowCount } = await holder.query(
      `select from pg_stat_activity where datname = current_database()
        and application_name = 'dripline-worker' and wait_event_type = 'Lock'`,
    )
    expect(rowCount).toBeGreaterThan(0)
  })
  await pump.kill()
  await holder.end()
  expect(await waiting()).toBe(CONTACTS)

  await pump.start()
  await eventually(async () => expect(await waiting()).toBe(0))
  const { faults, counts } = await auditMailEvents(h.db)
  expect(faults).toEqual([])
  expect(counts).toEqual({ told: CONTACTS })
  const contacts = await h.db.selectFrom('contacts').select('event_count').execute()
  // email.sent and email.delivered are recorded.
  expect(contacts).toEqual(Array(CONTACTS).fill({ event_count: 3 }))
  await expectDrained(h.db)
})
