// A relay that refuses all mail for a fault of ours: the mail waits, and goes out when the relay is mended.
import { expect, onTestFinished, test } from 'vitest'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase, type TestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { auditMail } from '../setup/ledger.ts'
import { type SmtpSink, startSmtp } from '../setup/smtp.ts'

const MAILS = 100
const STEP_MS = 2_000
const DEADLINE_MS = 120_000
const TEST_MS = 300_000

const refusals = [
  ['530 5.7.0 Authentication required', 'account'],
  ['550 5.7.606 Access denied, banned sending IP [192.0.2.1]', 'address'],
  ['535 5.7.8 Authentication failed', 'account'],
] as const

/** One for each refusal: a lane takes whatever mail its database has. */
const databases = new Map<string, TestDatabase>()
for (const [reply] of refusals) databases.set(reply, await createTestDatabase())

/** A clock that a test puts forward, from now on. */
function startClock() {
  let ahead_ms = 0
  return {
    now: () => new Date(Date.now() + ahead_ms),
    pass: (ms: number) => {
      ahead_ms += ms
    },
  }
}

const attemptsOf = ({ attempts }: SmtpSink) => [...attempts.values()].reduce((a, b) => a + b, 0)

type Refusal = (typeof refusals)[number]

/** Refuses all mail of a database, and takes it in the end. */
async function refuseAndMend([reply, kind]: Refusal): Promise<void> {
  const database = databases.get(reply)
  if (!database) throw new Error(`there is no database for ${reply}`)
  const { db } = database
  const { workspaceId, domainId } = await seedWorkspace(db)
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  smtp.setScript(() => ({ at: 'rcpt', reply }))
  const clock = startClock()
  const worker = createTestWorker(database, smtp.url, { now: clock.now })
  for (let n = 0; n < MAILS; n++) {
    const mail = { text: 'Hello', to: [`x${n}@d${n % 40}.test`] }
    await acceptMail({ db, workspaceId, domainId }, mail)
  }
  await worker.own({ lane: 0, lanes: 1 })
  const waiting = async () => {
    const rows = await db.selectFrom('deliveries').select(['state', 'next_at']).execute()
    expect(
      rows.map(({ state }) => state).filter((state) => !/queued|deferred/.test(state)),
    ).toEqual([])
    return rows.filter(({ next_at }) => next_at > clock.now()).length
  }
  // The lane claims little at a time while the breaker is open.
  await eventually(async () => expect(await waiting()).toBe(MAILS), { deadline_ms: DEADLINE_MS })
  expect(worker.breakers.countOpen()).toMatchObject({ [kind]: 1 })
  expect(attemptsOf(smtp), 'at the beginning').toBeLessThanOrEqual(5)

  // Five minutes, one try in each of them.
  const until = clock.now().getTime() + 5 * 60_000
  await eventually(
    async () => {
      clock.pass(STEP_MS)
      worker.wake()
      expect(clock.now().getTime()).toBeGreaterThan(until)
    },
    { deadline_ms: DEADLINE_MS },
  )
  expect(attemptsOf(smtp), 'after five minutes').toBeLessThanOrEqual(11)
  expect(attemptsOf(smtp)).toBeGreaterThan(6)

  smtp.setScript({})
  await eventually(
    async () => {
      clock.pass(STEP_MS)
      worker.wake()
      await expectDelivered(db)
    },
    { deadline_ms: DEADLINE_MS },
  )
  console.log('refused, then mended:', reply.slice(0, 3), 'attempts:', attemptsOf(smtp))
  expect(worker.breakers.countOpen()).toEqual({ sender: 0, address: 0, account: 0 })
  expect(attemptsOf(smtp)).toBeLessThanOrEqual(MAILS + 15)
  expect(smtp.mails).toHaveLength(MAILS)
  const { faults } = await auditMail(db, smtp, { emails: new Map() })
  expect(faults).toEqual([])
  const bounces = db.selectFrom('email_events').selectAll().where('status', '=', 'bounced')
  expect(await bounces.execute()).toEqual([])
  expect(await db.selectFrom('suppressions').selectAll().execute()).toEqual([])
  expect(await db.selectFrom('soft_bounces').selectAll().execute()).toEqual([])
}

// At the same time: most of each is waiting, since a lane claims once in five seconds while a breaker is open.
test('what a relay refuses for a fault of ours waits, and is delivered once after the mend', {
  timeout: TEST_MS,
}, async () => {
  await Promise.all(refusals.map(refuseAndMend))
})

/** @throws unless all mail is settled; what the pump would tell contacts is left. */
async function expectDelivered(db: TestDatabase['db']): Promise<void> {
  const open = await db
    .selectFrom('deliveries')
    .select('state')
    .where('settled_at', 'is', null)
    .execute()
  expect(open).toHaveLength(0)
}
