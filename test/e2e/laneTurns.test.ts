// Lanes go on without a pause: while their activity takes turns, and while Temporal is away.
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import type { Db } from '../../db/connect.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { auditMail, expectDrained } from '../setup/ledger.ts'
import { startLoad } from '../setup/load.ts'
import { startPrivateTemporal } from '../setup/servers.ts'

const TEST_MS = 120_000
const [turning, without] = await Promise.all([createTestDatabase(), createTestDatabase()])

const epochOf = async (db: Db) =>
  (await db.selectFrom('lanes').select('epoch').where('lane', '=', 0).executeTakeFirst())?.epoch ??
  0

type Harness = Awaited<ReturnType<typeof createHarness>>

/** Keeps mail to these local parts waiting at a step, until `release`. */
function holdMail(h: Harness) {
  let release = () => {}
  const hold = new Promise<void>((resolve) => {
    release = resolve
  })
  onTestFinished(() => release())
  h.smtp.setScript({
    'held-at-dot': [{ at: 'dot', reply: '250 2.0.0 ok', hold }],
    'held-before-data': [{ at: 'rcpt', reply: '250 2.1.5 ok', hold }],
  })
  return () => release()
}

const send = (h: Harness, to: string[]) =>
  h.request<{ id: string }>('POST', '/v1/emails', {
    from: 'hello@sender.test',
    to,
    subject: 'Held',
    text: 'Held',
  })

test('turns every second, over two workers: nothing under way is cut off or sent twice', {
  timeout: TEST_MS,
}, async () => {
  const { db } = turning
  const env = { LANE_TURN_SECONDS: '1', LEASE_SECONDS: '5' }
  const h = await createHarness(turning, { workers: 2, env })
  const release = holdMail(h)
  const load = startLoad(h)
  const held = ['held-at-dot@one.test', 'held-before-data@two.test']
  const { body } = await send(h, held)
  await eventually(() => expect(held.map((rcpt) => h.smtp.attempts.get(rcpt))).toEqual([1, 1]))
  const before = await epochOf(db)
  // Each is held over several turns and for longer than a lease.
  await eventually(async () => expect(await epochOf(db)).toBeGreaterThan(before + 9), {
    deadline_ms: 60_000,
  })
  release()
  const answered = await load.stop()
  answered.emails.set(body.id, held)
  await eventually(() => expectDrained(db), { deadline_ms: 60_000 })
  const { faults, counts } = await auditMail(db, h.smtp, answered)
  console.log('lanes in turns:', { epochs: await epochOf(db), ...counts })
  expect([...faults, ...answered.faults]).toEqual([])
  expect(counts).toMatchObject({ resent: 0, doubled: 0, unknown: 0 })
  const attempts = await db
    .selectFrom('delivery_attempts')
    .select(['attempt', 'outcome'])
    .distinct()
    .execute()
  expect(attempts, 'no second attempt').toEqual([{ attempt: 1, outcome: 'delivered' }])
})

test('Temporal is away from the first mail to the last: the lane goes on, and moves when Temporal is back', {
  timeout: TEST_MS,
}, async () => {
  const { db } = without
  const temporal = await startPrivateTemporal()
  const h = await createHarness(without, {
    temporal: { address: temporal.address, namespace: 'default' },
    env: { LANE_TURN_SECONDS: '2' },
  })
  await eventually(async () => expect(await epochOf(db)).toBeGreaterThan(0))
  await temporal.kill()
  const epoch = await epochOf(db)
  const load = startLoad(h)
  // Longer than a turn, and than the heartbeats that Temporal waits for.
  const goesOn = async (mails: number) => {
    const before = h.smtp.mails.length
    await eventually(() => expect(h.smtp.mails.length).toBeGreaterThan(before + mails), {
      deadline_ms: 60_000,
    })
  }
  await goesOn(700)
  expect(await epochOf(db)).toBe(epoch)
  const { rows } = await sql<{ alive: boolean }>`select until > now() as alive from lanes`.execute(
    db,
  )
  expect(rows).toEqual([{ alive: true }])

  await temporal.restart()
  await eventually(async () => expect(await epochOf(db)).toBeGreaterThan(epoch), {
    deadline_ms: 60_000,
  })
  await goesOn(50)
  const answered = await load.stop()
  await eventually(() => expectDrained(db), { deadline_ms: 60_000 })
  const { faults, counts } = await auditMail(db, h.smtp, answered)
  console.log('lanes without Temporal:', counts)
  expect([...faults, ...answered.faults]).toEqual([])
  expect(counts).toMatchObject({ resent: 0, doubled: 0, unknown: 0 })
})
