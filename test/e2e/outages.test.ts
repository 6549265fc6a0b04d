// Outages: Temporal, Postgres or the SMTP server stops and comes back. Nothing is lost, and nothing needs a
// restart.
import { expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'
import { auditExecutions, auditMail, expectDrained } from '../setup/ledger.ts'
import { startLoad } from '../setup/load.ts'
import { startOwnDatabase } from '../setup/ownDatabase.ts'
import { startPrivateTemporal } from '../setup/servers.ts'

const [onTemporal, onSmtp] = await Promise.all([createTestDatabase(), createTestDatabase()])

const TEST_MS = 120_000
const BACK_MS = 30_000

const transactional = { category: 'transactional' }
const untilPaid = design(
  {
    start: onEvent('ordered'),
    receipt: mail('Receipt', transactional),
    wait: ['wait_for_event', { event_name: 'paid', lookback_ms: 3_600_000 }],
    thanks: mail('Thanks', transactional),
  },
  [
    ['start', 'receipt'],
    ['receipt', 'wait'],
    ['wait', 'thanks', 'received'],
  ],
)
const wholeWay = { nodes: ['start', 'receipt', 'wait', 'thanks'], mails: ['receipt', 'thanks'] }

type Harness = Awaited<ReturnType<typeof createHarness>>

const send = (h: Harness, to: string) =>
  h.request<{ id: string }>('POST', '/v1/emails', {
    from: 'hello@sender.test',
    to,
    subject: 'Hello',
    text: 'Hello',
  })
const post = (h: Harness, event_name: string, email: string) =>
  h.request<{ executions: string[] }>('POST', '/v1/automation/events', { event_name, email })
const readExecution = (h: Harness, id: string | undefined) =>
  h.request<{ status: string }>('GET', `/v1/executions/${id}`)
const probe = async (url: string) => (await fetch(url)).status

async function expectStatus(h: Harness, id: string | undefined, status: string) {
  await eventually(
    async () => expect((await readExecution(h, id)).body).toMatchObject({ status }),
    { deadline_ms: BACK_MS },
  )
}

/** Checks that the processes have not been restarted. */
function pidsOf(h: Harness): number[] {
  const pids = [h.api, ...h.workers].map((one) => one.pid)
  for (const pid of pids) process.kill(pid, 0)
  return pids
}

test('Temporal down: sends and events are accepted and run afterwards, reads answer 503', {
  timeout: TEST_MS,
}, async () => {
  const temporal = await startPrivateTemporal()
  const h = await createHarness(onTemporal, {
    temporal: { address: temporal.address, namespace: 'default' },
  })
  const pids = pidsOf(h)
  const workflowId = await insertFlow(h.db, h, untilPaid)
  const first = await post(h, 'ordered', 'first@example.test')
  const [firstId] = first.body.executions
  await expectStatus(h, firstId, 'WAITING')

  await temporal.stop()
  const sent = await send(h, 'meanwhile@example.test')
  const second = await post(h, 'ordered', 'second@example.test')
  const paid = await post(h, 'paid', 'first@example.test')
  expect([sent.status, second.status, paid.status]).toEqual([200, 202, 202])
  const [secondId] = second.body.executions
  const expectUnavailable = async (path: string) => {
    const answer = await h.request('GET', path)
    expect({ path, status: answer.status, body: answer.body }).toEqual({
      path,
      status: 503,
      body: {
        error: expect.stringContaining('Temporal'),
        code: 'service_unavailable',
        request_id: expect.any(String),
      },
    })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  const health = [probe(`${h.api.url}/healthz`), probe(`${h.api.url}/readyz`)]
  await Promise.all([
    expectUnavailable(`/v1/executions/${firstId}`),
    expectUnavailable(`/v1/workflows/${workflowId}/executions`),
    expectUnavailable('/v1/automation/contacts/first@example.test/executions'),
  ])
  expect(await Promise.all(health)).toEqual([200, 503])

  await temporal.restart()
  await expectStatus(h, firstId, 'COMPLETED')
  await expectStatus(h, secondId, 'WAITING')
  await post(h, 'paid', 'second@example.test')
  await expectStatus(h, secondId, 'COMPLETED')
  await eventually(() => expectDrained(h.db), { deadline_ms: BACK_MS })
  const events = new Map<string, string[]>()
  expect(await auditExecutions(h.db, { events }, wholeWay)).toMatchObject({ faults: [] })
  const emails = new Map([[sent.body.id, ['meanwhile@example.test']]])
  expect(await auditMail(h.db, h.smtp, { emails })).toMatchObject({ faults: [] })
  expect(pidsOf(h)).toEqual(pids)

  // Temporal is killed, and a worker that is stopped meanwhile does not wait for it.
  await temporal.kill()
  await post(h, 'ordered', 'third@example.test')
  const [worker] = h.workers
  expect(await worker?.stop(), worker?.log()).toEqual({ code: 0, signal: null })
})

test('Postgres killed and stopped under load: 503 meanwhile, and no restart is needed', {
  timeout: TEST_MS,
}, async () => {
  const { postgres, ...database } = await startOwnDatabase()
  const h = await createHarness(database)
  const pids = pidsOf(h)
  await insertFlow(h.db, h, untilPaid)
  const load = startLoad({ ...h, events: ['ordered', 'paid'] })
  const goesOn = async () => {
    const before = load.progress()
    const mails = h.smtp.mails.length
    await eventually(
      () => {
        expect(load.answered.faults).toEqual([])
        expect(load.progress()).toBeGreaterThan(before + 20)
        expect(h.smtp.mails.length).toBeGreaterThan(mails + 20)
      },
      { deadline_ms: BACK_MS },
    )
  }
  for (const end of [postgres.kill, postgres.stop]) {
    await goesOn()
    await end()
    for (const answer of [
      await send(h, 'never@example.test'),
      await post(h, 'ordered', 'never@example.test'),
      await h.request('GET', '/v1/emails'),
    ]) {
      expect({ status: answer.status, body: answer.body }).toMatchObject({
        status: 503,
        body: { code: 'service_unavailable' },
      })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect([await probe(`${h.api.url}/healthz`), await probe(`${h.api.url}/readyz`)]).toEqual([
      200, 503,
    ])
    await postgres.restart()
  }
  await goesOn()
  const answered = await load.stop()
  await eventually(() => expectDrained(h.db), { deadline_ms: BACK_MS })
  const mails = await auditMail(h.db, h.smtp, answered)
  const executions = await auditExecutions(h.db, answered, wholeWay)
  console.log('Postgres killed and stopped:', {
    unanswered: answered.unanswered,
    ...mails.counts,
    ...executions.counts,
  })
  expect([...mails.faults, ...executions.faults, ...answered.faults]).toEqual([])
  expect(pidsOf(h)).toEqual(pids)
})

test('SMTP down: mail waits as deferred, and goes out once when the server is back', async () => {
  const h = await createHarness(onSmtp)
  const delivery = (to: string) =>
    h.db.selectFrom('deliveries').selectAll().where('recipient', '=', to).executeTakeFirstOrThrow()
  await h.smtp.stop()
  const sentAt = Date.now()
  const sent = await send(h, 'waits@example.test')
  expect(sent.status).toBe(200)
  const waiting = await eventually(async () => {
    const row = await delivery('waits@example.test')
    expect(row).toMatchObject({ state: 'deferred', attempt: 1, settled_at: null })
    return row
  })
  expect(waiting.last_response).toMatch(/^connect: .*ECONNREFUSED/)
  const wait_ms = waiting.next_at.getTime() - sentAt
  expect(wait_ms).toBeGreaterThan(45_000)
  expect(wait_ms).toBeLessThan(90_000)
  const statuses = async () => {
    const { body } = await h.request<{
      recipient_statuses: { events: { status: string }[] }[]
    }>('GET', `/v1/emails/${sent.body.id}`)
    return body.recipient_statuses.flatMap((one) => one.events.map((event) => event.status))
  }
  expect(await statuses()).toEqual(['sent'])

  await h.smtp.start()
  // The minute until its next attempt is over.
  await h.db.updateTable('deliveries').set({ next_at: new Date() }).execute()
  await eventually(async () => expect(await statuses()).toEqual(['sent', 'delivered']))
  expect(await delivery('waits@example.test')).toMatchObject({ state: 'delivered', attempt: 2 })
  expect(h.smtp.mailsTo('waits@example.test')).toHaveLength(1)
})
