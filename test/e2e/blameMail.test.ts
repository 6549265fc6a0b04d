// Mail that ends its worker is found and given up; what was merely under way beside it never is.
import { Connection, WorkflowClient } from '@temporalio/client'
import { expect, onTestFinished, test } from 'vitest'
import { isAlive } from '../../dev/processes/processes.ts'
import { createTestDatabase } from '../setup/database.ts'
import { endLane } from '../setup/deliveryKiller.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { expectDrained } from '../setup/ledger.ts'

const GOOD = 30
const PRELOADED = new URL('../setup/badMail.mjs', import.meta.url)

test('a mail that ends its worker each time bounces after three deaths alone; all others arrive', {
  timeout: 600_000,
}, async () => {
  const h = await createHarness(await createTestDatabase(), {
    env: { NODE_OPTIONS: `--import ${PRELOADED.href}`, LEASE_SECONDS: '2' },
  })
  const [worker] = h.workers
  if (!worker) throw new Error('there is no worker')
  const connection = await Connection.connect({ address: h.service.temporalAddress })
  onTestFinished(() => connection.close())
  const client = new WorkflowClient({ connection, namespace: h.service.temporalNamespace })
  h.smtp.setScript((rcpt) =>
    rcpt.startsWith('reply@') ? { at: 'rcpt', reply: '550 5.1.1 DIES' } : undefined,
  )
  await worker.stop()
  const send = async (to: string[], subject: string) => {
    const mail = { from: 'a@sender.test', to, subject, html: '<p>Hello</p>' }
    const { status, body } = await h.request<{ id: string }>('POST', '/v1/emails', mail)
    expect(status, JSON.stringify(body)).toBeLessThan(300)
    return body.id
  }
  for (let n = 0; n < GOOD; n++) await send([`good${n}@example.test`], 'Hello')
  const bad = await send(['bad1@example.test', 'bad2@other.test'], 'DIES here')
  await send(['slow@example.test'], 'STALLS here')
  const badReply = await send(['reply@example.test', 'fine@example.test'], 'Hello')

  let deaths = -1
  // Only the end of the log is read, so the line is noted as soon as it stands there.
  let isSaid = false
  const look = () => {
    isSaid ||= worker.log(10_000).includes('a suspect was given up')
  }
  await eventually(
    async () => {
      look()
      // The test is the supervisor: whatever ends is started again at once.
      if (!isAlive(worker.pid)) {
        deaths += 1
        await endLane(client)
        await worker.start({ ready: false })
      }
      await expectDrained(h.db)
    },
    { deadline_ms: 400_000 },
  )
  console.log('deaths of the worker:', deaths)
  // Of the mail, and of the reply: the first death was among others, three more were alone.
  expect(deaths).toBe(8)

  const rows = await h.db
    .selectFrom('deliveries')
    .select(['email_id', 'recipient', 'state', 'last_response'])
    .orderBy('recipient')
    .execute()
  const of = (email: string) => rows.filter(({ email_id }) => email_id === email)
  const givenUp = (what: string) => `given up: the worker ended 3 times while it ${what} alone`
  for (const { state, last_response } of of(bad)) {
    expect([state, last_response]).toEqual(['bounced', givenUp('composed this mail')])
  }
  expect(of(badReply).map(({ recipient, last_response }) => [recipient, last_response])).toEqual([
    ['fine@example.test', expect.stringMatching(/250|^unknown: /)],
    ['reply@example.test', givenUp('read the reply to this mail')],
  ])
  // A death between the mark and the reply leaves a mail that is sent once more, or whose end nobody knows.
  const others = rows.filter(
    ({ email_id, recipient }) => email_id !== bad && recipient !== 'reply@example.test',
  )
  expect(others).toHaveLength(GOOD + 2)
  for (const { recipient, state } of others) {
    expect(['delivered', 'unknown'], recipient).toContain(state)
    // One that died between its mark and its dot may not have come.
    if (state === 'delivered')
      expect(h.smtp.mailsTo(recipient).length, recipient).toBeGreaterThan(0)
  }
  const bounces = await h.db
    .selectFrom('email_events')
    .select(['recipient', 'data'])
    .where('status', '=', 'bounced')
    .orderBy('recipient')
    .execute()
  const data = { type: 'Undetermined', subtype: 'Undetermined' }
  expect(bounces).toEqual(
    ['bad1@example.test', 'bad2@other.test', 'reply@example.test'].map((recipient) => ({
      recipient,
      data,
    })),
  )
  expect(await h.db.selectFrom('suppressions').selectAll().execute()).toEqual([])
  await eventually(() => {
    look()
    expect(isSaid, 'the log says that a suspect was given up').toBe(true)
  })
  await eventually(async () =>
    expect(
      await h.db.selectFrom('suspects').selectAll().execute(),
      `alive: ${isAlive(worker.pid)}`,
    ).toEqual([]),
  )
})
