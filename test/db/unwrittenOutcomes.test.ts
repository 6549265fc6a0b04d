// The outcome of a mail that was sent is known to its lane alone: it is kept and written again for as long as Postgres answers that it takes
// nothing now, and meanwhile the lane sends nothing of which it could write the outcome no more than that. What somebody holds waits alone.
// Long because each case needs a lane whose outcome is not written, which its head makes.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Trx } from '../../db/connect.ts'
import { createOutcomes } from '../../delivery/lane/outcomes.ts'
import { createSureWriter } from '../../delivery/lane/settleSurely.ts'
import { createLog } from '../../runtime/log.ts'
import { acceptMail } from '../setup/acceptedMail.ts'
import { claimInTrx } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { allLines, endLeases } from '../setup/queue.ts'
import { startSmtp } from '../setup/smtp.ts'

const database = await createTestDatabase({ poolSize: 20, settings: { lock_timeout: 100 } })
const { db } = database
const workspace = { db, ...(await seedWorkspace(db)) }

beforeEach(() =>
  sql`truncate deliveries, email_events, delivery_attempts, suppressions`.execute(db),
)

const send = (to: string) => acceptMail(workspace, { text: 'Hello', to: [to] })

const rowOf = (to: string) =>
  db.selectFrom('deliveries').selectAll().where('recipient', '=', to).executeTakeFirstOrThrow()

/** Counts how often it is tried to write the outcome of a delivery. */
function countTries(id: number) {
  let count = 0
  const see = (passed: unknown) => {
    const { point, delivery_id } = passed as { point: string; delivery_id: number | null }
    if (point === 'settle' && delivery_id === id) count += 1
  }
  subscribe('dripline:delivery', see)
  onTestFinished(() => void unsubscribe('dripline:delivery', see))
  return { reach: (tries: number) => eventually(() => expect(count).toBeGreaterThanOrEqual(tries)) }
}

/** A worker of one lane, and a server that answers the dots of these, each `held@…`, when it is let. */
async function startHeld(
  reply: string,
  config: { leaseMs: number; drainMs?: number },
  all = ['held@one.test'],
) {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  let answer = () => {}
  let dots = 0
  const hold = new Promise<void>((resolve) => {
    answer = resolve
  })
  onTestFinished(answer)
  const onDot = () => {
    dots += 1
  }
  smtp.setScript({ held: [{ at: 'dot', reply, hold, onDot }] })
  const worker = createTestWorker(database, smtp.url, { config })
  await worker.own({ lane: 0, lanes: 1 })
  for (const to of all) await send(to)
  worker.wake()
  await eventually(() => expect(dots).toBe(all.length))
  return { smtp, worker, answer, id: (await rowOf('held@one.test')).id }
}

test.each([
  ['250 2.0.0 taken', 'delivered'],
  ['550 5.1.1 no such user', 'bounced'],
])('a reply %s is written when a table comes free that was held for long', async (reply, state) => {
  // Of one it would not be known that nobody else's is taken.
  const all = ['held@one.test', 'held@two.test', 'held@three.test']
  const { smtp, worker, answer, id } = await startHeld(reply, { leaseMs: 2_000 }, all)
  const tries = countTries(id)
  await db.transaction().execute(async (holder) => {
    await sql`lock table delivery_attempts in access exclusive mode`.execute(holder)
    answer()
    await tries.reach(2)
    await send('next@one.test')
    worker.wake()
    await tries.reach(7)
    expect(await rowOf('held@one.test')).toMatchObject({ state: 'data_sent', attempt: 1 })
    expect(await rowOf('next@one.test')).toMatchObject({ state: 'queued', attempt: 0 })
  })
  await eventually(async () => expect((await rowOf('next@one.test')).state).toBe('delivered'))
  for (const to of all) {
    await eventually(async () =>
      expect(await rowOf(to)).toMatchObject({ state, attempt: 1, resent: 0 }),
    )
    expect(smtp.attempts.get(to)).toBe(1)
    expect(smtp.mailsTo(to)).toHaveLength(state === 'delivered' ? 1 : 0)
  }
  expect(smtp.refused).toHaveLength(state === 'delivered' ? 0 : 3)
  const suppressed = await db.selectFrom('suppressions').select('email').execute()
  expect(suppressed.map(({ email }) => email).sort()).toEqual(
    state === 'bounced' ? all.toSorted() : [],
  )
})

test('one that somebody holds waits alone', async () => {
  const { smtp, worker, answer, id } = await startHeld('250 2.0.0 taken', { leaseMs: 60_000 })
  const tries = countTries(id)
  await db.transaction().execute(async (holder) => {
    await sql`select from deliveries where id = ${id} for update`.execute(holder)
    answer()
    await tries.reach(2)
    await send('next@one.test')
    worker.wake()
    await eventually(async () => expect((await rowOf('next@one.test')).state).toBe('delivered'))
    expect((await rowOf('held@one.test')).state).toBe('data_sent')
  })
  await eventually(async () =>
    expect(await rowOf('held@one.test')).toMatchObject({
      state: 'delivered',
      attempt: 1,
      resent: 0,
    }),
  )
  expect(smtp.attempts.get('held@one.test')).toBe(1)
})

test('one that somebody holds costs no other its lease', async () => {
  const { id } = await startHeld('250 2.0.0 taken', { leaseMs: 2_000 }, [
    'held@one.test',
    'held@two.test',
  ])
  await db.transaction().execute(async (holder) => {
    await sql`select from deliveries where id = ${id} for update`.execute(holder)
    const { lease_until } = await rowOf('held@two.test')
    await eventually(async () =>
      expect(Number((await rowOf('held@two.test')).lease_until)).toBeGreaterThan(
        Number(lease_until),
      ),
    )
    expect((await rowOf('held@two.test')).state).toBe('data_sent')
  })
})

test('of the mail of a dead worker that which nobody holds is taken over', async () => {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  const all = ['first@one.test', 'second@one.test']
  for (const to of all) await send(to)
  const leaseToken = '00000000-0000-0000-0000-000000000001'
  const asked = { ...allLines(2), leaseToken, leaseMs: 60_000, now: new Date() }
  const { deliveries } = await claimInTrx(db as unknown as Trx, asked)
  expect(deliveries).toHaveLength(2)
  await endLeases(
    db,
    deliveries.map(({ id }) => id),
  )
  const isSent = (to: string) =>
    eventually(async () =>
      expect(await rowOf(to)).toMatchObject({ state: 'delivered', attempt: 2 }),
    )
  await db.transaction().execute(async (holder) => {
    await sql`select from deliveries where recipient = 'first@one.test' for update`.execute(holder)
    const worker = createTestWorker(database, smtp.url, { config: { leaseMs: 1_000 } })
    await worker.own({ lane: 0, lanes: 1 })
    await isSent('second@one.test')
  })
  await isSent('first@one.test')
})

test('when the time of a stop is over, an outcome that waits for its next try is written', async () => {
  const config = { leaseMs: 60_000, drainMs: 1_000 }
  const { worker, answer } = await startHeld('250 2.0.0 taken', config)
  // Refusals are counted by a sequence, which they do not undo.
  await sql`create sequence refusals`.execute(db)
  await sql`create function refuse_all() returns trigger language plpgsql as $$
    begin perform nextval('refusals'); raise exception using errcode = '53100'; end $$`.execute(db)
  await sql`create trigger refuse_all before insert on delivery_attempts for each row execute function refuse_all()`.execute(
    db,
  )
  answer()
  await eventually(async () => {
    const { rows } = await sql<{ last_value: number }>`select last_value from refusals`.execute(db)
    expect(rows[0]?.last_value).toBeGreaterThanOrEqual(5)
  })
  // The next try comes after more than the time of the stop.
  const stopped = worker.stop()
  await sql`drop trigger refuse_all on delivery_attempts`.execute(db)
  await stopped
  expect(await rowOf('held@one.test')).toMatchObject({ state: 'delivered', attempt: 1, resent: 0 })
})

test('when the time of a stop is over, an outcome whose delivery somebody holds is written when that comes free', async () => {
  const config = { leaseMs: 60_000, drainMs: 300 }
  const { worker, answer, id } = await startHeld('250 2.0.0 taken', config)
  const tries = countTries(id)
  let stopped: Promise<void> | undefined
  await db.transaction().execute(async (holder) => {
    await sql`select from deliveries where id = ${id} for update`.execute(holder)
    answer()
    await tries.reach(2)
    stopped = worker.stop()
    // Within the time of the stop there is no place for so many.
    await Promise.race([stopped, tries.reach(8)])
  })
  await stopped
  expect(await rowOf('held@one.test')).toMatchObject({ state: 'delivered', attempt: 1, resent: 0 })
})

test('when the time of a stop is over, unmarked mail that somebody holds keeps no other from the queue', async () => {
  const config = { leaseMs: 60_000, drainMs: 300 }
  const { smtp, worker, answer, id } = await startHeld('250 2.0.0 taken', config)
  const tries = countTries(id)
  const hold = new Promise<void>((resolve) => void onTestFinished(() => resolve()))
  smtp.setScript({ unmarked: [{ at: 'rcpt', reply: '250 2.1.5 known', hold }] })
  const unmarked = ['unmarked@one.test', 'unmarked@two.test'] as const
  for (const to of unmarked) await send(to)
  worker.wake()
  for (const to of unmarked) await eventually(() => expect(smtp.attempts.get(to)).toBe(1))
  let stopped: Promise<void> | undefined
  await db.transaction().execute(async (holder) => {
    const recipients = ['held@one.test', unmarked[0]]
    await sql`select from deliveries where recipient = any(${recipients}) for update`.execute(
      holder,
    )
    answer()
    await tries.reach(1)
    stopped = worker.stop()
    await eventually(async () => expect((await rowOf(unmarked[1])).state).toBe('queued'), {
      deadline_ms: 3_000,
    })
    expect((await rowOf(unmarked[0])).state).toBe('sending')
  })
  await stopped
  // The last try of the known outcome was waited for, and what was held is given back by then.
  expect((await rowOf('held@one.test')).state).toBe('delivered')
  expect(await rowOf(unmarked[0])).toMatchObject({ state: 'queued', attempt: 0 })
})

test('a worker that stops tries until its time is over', async () => {
  const { worker, answer, id } = await startHeld('250 2.0.0 taken', {
    leaseMs: 60_000,
    drainMs: 60_000,
  })
  const tries = countTries(id)
  let stopped: Promise<void> | undefined
  await db.transaction().execute(async (holder) => {
    await sql`lock table delivery_attempts in access exclusive mode`.execute(holder)
    answer()
    await tries.reach(3)
    stopped = worker.stop()
    await tries.reach(7)
  })
  await stopped
  expect(await rowOf('held@one.test')).toMatchObject({ state: 'delivered', attempt: 1, resent: 0 })
})

test.each(['23514', 'P0001'])(
  'what Postgres refuses by %s is given up after some tries, and keeps nothing else waiting',
  async (code) => {
    await sql`create or replace function refuse() returns trigger language plpgsql as $$
    begin raise exception using errcode = ${sql.lit(code)}; end $$`.execute(db)
    await sql`create or replace trigger refuse before insert on delivery_attempts for each row
    when (new.response like '%unstorable%') execute function refuse()`.execute(db)
    const { worker, answer, id } = await startHeld('250 2.0.0 unstorable', { leaseMs: 2_000 })
    const tries = countTries(id)
    answer()
    await tries.reach(2)
    await send('next@one.test')
    worker.wake()
    await eventually(async () => expect((await rowOf('next@one.test')).state).toBe('delivered'))
    // As after the death of a worker: it is sent once more.
    await eventually(async () => expect((await rowOf('held@one.test')).resent).toBe(1))
    worker.wake()
    await eventually(async () => expect((await rowOf('held@one.test')).state).toBe('delivered'))
  },
)

const fault = (code: string) => Object.assign(new Error('refused'), { code })

test('only refusals of an outcome itself count against it', async () => {
  const codes = [...Array.from({ length: 5 }, () => '57P03'), '23505']
  const outcomes = createOutcomes(new AbortController().signal)
  const write = createSureWriter({ log: createLog('lane', 'silent') }, outcomes, async () => {
    const code = codes.shift()
    if (code) throw fault(code)
    return new Set()
  })
  await write({ id: 1 })
  expect(codes).toEqual([])
})
