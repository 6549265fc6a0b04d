// Temporal is killed and its data is deleted: executions go on where Postgres has them, and each mail is sent once.
import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'
import { auditExecutions, auditMail, expectDrained } from '../setup/ledger.ts'
import { startPrivateTemporal } from '../setup/servers.ts'

const database = await createTestDatabase()

const transactional = { category: 'transactional' }
const untilPaid = design(
  {
    start: onEvent('ordered'),
    receipt: mail('Receipt', transactional),
    wait: ['wait_for_event', { event_name: 'paid', lookback_ms: 3_600_000 }],
    pause: ['delay', { ms: 1_000 }],
    thanks: mail('Thanks', transactional),
  },
  [
    ['start', 'receipt'],
    ['receipt', 'wait'],
    ['wait', 'pause', 'received'],
    ['pause', 'thanks'],
  ],
)
const wholeWay = {
  nodes: ['start', 'receipt', 'wait', 'pause', 'thanks'],
  mails: ['receipt', 'thanks'],
}
const SOON = { deadline_ms: 180_000 }

test('executions outlive the loss of all that Temporal has', { timeout: 420_000 }, async () => {
  const temporal = await startPrivateTemporal()
  const h = await createHarness(database, {
    temporal: { address: temporal.address, namespace: 'default' },
    workers: 2,
  })
  await insertFlow(h.db, h, untilPaid)
  const post = async (event_name: string, email: string) => {
    const body = { event_name, email }
    const answer = await h.request<{ executions: string[] }>('POST', '/v1/automation/events', body)
    expect(answer.status).toBe(202)
    return answer.body.executions[0] ?? ''
  }
  const is = (id: string, status: string) =>
    eventually(async () => {
      const { body } = await h.request('GET', `/v1/executions/${id}`)
      expect(body).toMatchObject({ status })
    }, SOON)
  const people = Array.from({ length: 12 }, (_, i) => `person-${i}@example.test`)
  const ids = await Promise.all(people.map((email) => post('ordered', email)))
  await Promise.all(ids.map((id) => is(id, 'WAITING')))

  await temporal.kill()
  // Some pay while it is gone, and somebody orders.
  await Promise.all(people.slice(0, 4).map((email) => post('paid', email)))
  const late = await post('ordered', 'late@example.test')
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(temporal.dbFile + end, { force: true })
  await temporal.restart()

  await Promise.all(ids.slice(0, 4).map((id) => is(id, 'COMPLETED')))
  await Promise.all([...ids.slice(4), late].map((id) => is(id, 'WAITING')))
  await Promise.all([...people.slice(4), 'late@example.test'].map((email) => post('paid', email)))
  await Promise.all([...ids, late].map((id) => is(id, 'COMPLETED')))
  await eventually(() => expectDrained(h.db), SOON)
  const events = new Map<string, string[]>()
  expect(await auditExecutions(h.db, { events }, wholeWay)).toMatchObject({ faults: [] })
  expect(await auditMail(h.db, h.smtp, { emails: new Map() })).toMatchObject({ faults: [] })
  const mails = await h.db.selectFrom('emails').select(['execution_id', 'subject']).execute()
  expect(mails.map(({ execution_id, subject }) => `${execution_id} ${subject}`).sort()).toEqual(
    [...ids, late].flatMap((id) => [`${id} Receipt`, `${id} Thanks`]).sort(),
  )
  for (const worker of h.workers) process.kill(worker.pid, 0)
})
