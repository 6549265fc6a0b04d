// The outcome of a mail that was sent is known to its lane alone: it is kept and written again for as long as Postgres answers that it takes
// nothing now, and meanwhile the lane sends nothing of which it could write the outcome no more than that.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { writeGroupOrEach } from '../../delivery/writeGroupOrEach.ts'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
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

/** A worker of one lane, and a server that answers the dot of `held@one.test` when it is let. */
async function startHeld(reply: string, config: { leaseMs: number; drainMs?: number }) {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  let answer = () => {}
  let hasDot = false
  const hold = new Promise<void>((resolve) => {
    answer = resolve
  })
  onTestFinished(answer)
  const onDot = () => {
    hasDot = true
  }
  smtp.setScript({ held: [{ at: 'dot', reply, hold, onDot }] })
  const worker = createTestWorker(database, smtp.url, { config })
  await worker.own({ lane: 0, lanes: 1 })
  await send('held@one.test')
  worker.wake()
  await eventually(() => expect(hasDot).toBe(true))
  return { smtp, worker, answer, id: (await rowOf('held@one.test')).id }
}

test.each([
  ['250 2.0.0 taken', 'delivered'],
  ['550 5.1.1 no such user', 'bounced'],
])('a reply %s is written when a table comes free that was held for long', async (reply, state) => {
  const { smtp, worker, answer, id } = await startHeld(reply, { leaseMs: 2_000 })
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
  expect(await rowOf('held@one.test')).toMatchObject({ state, attempt: 1, resent: 0 })
  expect(smtp.attempts.get('held@one.test')).toBe(1)
  expect(smtp.mailsTo('held@one.test')).toHaveLength(state === 'delivered' ? 1 : 0)
  expect(smtp.refused).toHaveLength(state === 'delivered' ? 0 : 1)
  const suppressed = await db.selectFrom('suppressions').select('email').execute()
  expect(suppressed.map(({ email }) => email)).toEqual(state === 'bounced' ? ['held@one.test'] : [])
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

test('what Postgres will not store is given up after some tries, and keeps nothing else waiting', async () => {
  await sql`create function refuse() returns trigger language plpgsql as $$
    begin raise exception using errcode = '23514'; end $$`.execute(db)
  await sql`create trigger refuse before insert on delivery_attempts for each row
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
})

const fault = (code: string) => Object.assign(new Error('refused'), { code })

test.each(['53100', '55P03', '57014', '58030', '25006', '40P01', '42501', 'ECONNREFUSED'])(
  'a group that fails by %s is not written one by one: Postgres takes nothing now',
  async (code) => {
    const written: number[][] = []
    const faults = await writeGroupOrEach([1, 2, 3], async (some) => {
      written.push(some)
      throw fault(code)
    })
    expect(faults).toHaveLength(3)
    expect(written).toEqual([[1, 2, 3]])
  },
)

test.each(['23505', '22P05', '54000', 'XX000', 'P0001'])(
  'a group that fails by %s, which one of it may have caused, is written one by one',
  async (code) => {
    const faults = await writeGroupOrEach([1, 2, 3], async (some) => {
      if (some.includes(2)) throw fault(code)
    })
    expect(faults.map((one) => one !== undefined)).toEqual([false, true, false])
  },
)
