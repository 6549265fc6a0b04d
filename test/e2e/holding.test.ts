// A worker is killed while executions that a paused workflow held are let go: all of them go on, and each mail is sent once.
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'

const database = await createTestDatabase()
const { db } = database
const SOON = { deadline_ms: 120_000 }
/** Several pages. */
const PEOPLE = 160

const waitsForGo = {
  ...design(
    {
      start: onEvent('ordered'),
      wait: ['wait_for_event', { event_name: 'go', lookback_ms: 3_600_000 }],
      thanks: mail('Thanks', { category: 'transactional' }),
      end: ['exit', {}],
    },
    [
      ['start', 'wait'],
      ['wait', 'thanks', 'received'],
      ['thanks', 'end'],
    ],
  ),
  settings: { on_pause: 'hold' },
}

test('a release goes on after a kill, from where it was', { timeout: 420_000 }, async () => {
  const h = await createHarness(database)
  const [worker] = h.workers
  const workflowId = await insertFlow(db, h, waitsForGo)
  const people = Array.from({ length: PEOPLE }, (_, i) => `person-${i}@example.test`)
  const postAll = async (event_name: string) => {
    for (const email of people) {
      const { status } = await h.request('POST', '/v1/automation/events', { event_name, email })
      expect(status).toBe(202)
    }
  }
  const setStatus = async (status: string) => {
    const answer = await h.request('PATCH', `/v1/workflows/${workflowId}`, { status })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  }
  const held = async () => {
    const waits = db.selectFrom('event_waits').select('execution_id')
    const rows = await waits
      .where('held_workflow_id', '=', workflowId)
      .where('ended_by', 'is', null)
      .execute()
    return rows.length
  }
  await postAll('ordered')
  await setStatus('paused')
  await postAll('go')
  await eventually(async () => expect(await held()).toBe(PEOPLE), SOON)

  await setStatus('active')
  await eventually(async () => expect(await held()).toBeLessThan(PEOPLE), SOON)
  await worker?.kill()
  expect(await held()).toBeGreaterThan(0)
  await worker?.start()
  await eventually(async () => {
    const rows = await db.selectFrom('executions').select('ended_status').execute()
    expect(rows.filter(({ ended_status }) => ended_status !== 'COMPLETED')).toEqual([])
    expect(h.smtp.mails.length).toBeGreaterThanOrEqual(PEOPLE)
  }, SOON)
  expect(people.map((email) => h.smtp.mailsTo(email).length)).toEqual(people.map(() => 1))
  const mails = await db.selectFrom('emails').select('execution_id').execute()
  expect(new Set(mails.map((one) => one.execution_id)).size).toBe(PEOPLE)
  expect(mails).toHaveLength(PEOPLE)
})
