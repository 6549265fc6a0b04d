// kill -9 of workers while the members of a schedule's time are started: each gets one execution.
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { insertAudience, memberEmail, scheduled } from '../setup/schedules.ts'

const MEMBERS = 400
const database = await createTestDatabase()

test('killed in the middle, twice, it starts each member once', { timeout: 300_000 }, async () => {
  const h = await createHarness(database)
  const deadline = { deadline_ms: 120_000 }
  const audience_id = await insertAudience(h.db, h, MEMBERS)
  const design = scheduled({ at: Date.now() + 3_000, audience_id })
  const made = await h.request<{ workflow_id: string }>('POST', '/v1/workflows', {
    name: 'Scheduled',
    status: 'active',
    design,
  })
  expect(made.status).toBe(201)
  const startedEmails = async () => {
    const rows = await h.db
      .selectFrom('executions')
      .select('email')
      .where('workflow_id', '=', made.body.workflow_id)
      .orderBy('email')
      .execute()
    return rows.map(({ email }) => email)
  }
  const [worker] = h.workers
  for (const most of [0, 150]) {
    await eventually(
      async () => expect((await startedEmails()).length).toBeGreaterThan(most),
      deadline,
    )
    await worker?.kill()
    expect((await startedEmails()).length).toBeLessThan(MEMBERS)
    await worker?.start()
  }
  await eventually(async () => expect(await startedEmails()).toHaveLength(MEMBERS), deadline)
  expect(await startedEmails()).toEqual(Array.from({ length: MEMBERS }, (_, n) => memberEmail(n)))
  await eventually(async () => {
    const open = await h.db
      .selectFrom('executions')
      .select('id')
      .where('ended_status', 'is', null)
      .execute()
    expect(open).toEqual([])
  }, deadline)
  expect(await startedEmails()).toHaveLength(MEMBERS)
})
