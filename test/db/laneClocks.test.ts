// Workers whose clocks are an hour off: they deliver, take no lease from somebody alive, and keep none when they are dead.

import { sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Trx } from '../../db/connect.ts'
import { extendLeases } from '../../db/deliveries/leases.ts'
import { acceptMail } from '../setup/acceptedMail.ts'
import { claimInTrx } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { allLines, endLeases } from '../setup/queue.ts'
import { startSmtp } from '../setup/smtp.ts'

const database = await createTestDatabase()
const { db } = database
const trx = db as unknown as Trx
const { workspaceId, domainId } = await seedWorkspace(db)

const HOUR_MS = 3_600_000
const DEAD = '00000000-0000-0000-0000-000000000001'
const WHOLE = { lane: 0, lanes: 1 }
const off = (ms: number) => () => new Date(Date.now() + ms)

beforeEach(async () => {
  await sql`truncate deliveries, emails, email_events, delivery_attempts, lanes, outbox`.execute(db)
})

/** Mail that is due by the clock of every worker. */
async function send(to: string): Promise<void> {
  const mail = { text: 'Hello', to: [to] }
  const id = await acceptMail({ db, workspaceId, domainId }, mail)
  await sql`update deliveries set next_at = now() - interval '2 hours' where email_id = ${id}`.execute(
    db,
  )
}

const rowOf = (to: string) =>
  db.selectFrom('deliveries').selectAll().where('recipient', '=', to).executeTakeFirstOrThrow()

/** Claims one mail for a worker that is dead, at the time that its clock shows. */
async function claimFor(now: Date): Promise<number[]> {
  const lease = { leaseToken: DEAD, leaseMs: 60_000, now }
  const { deliveries } = await claimInTrx(trx, { ...allLines(9), ...lease })
  expect(deliveries).toHaveLength(1)
  return deliveries.map(({ id }) => id)
}

/** How long the lease of a mail lasts by the clock of Postgres, in ms. */
async function leaseLeft(to: string): Promise<number> {
  const { rows } = await sql<{ left_ms: number }>`
    select (extract(epoch from lease_until - clock_timestamp()) * 1000)::float8 as left_ms
    from deliveries where recipient = ${to}
  `.execute(db)
  return rows[0]?.left_ms ?? 0
}

/** A server that keeps the reply to one mail until it is released. */
async function startHolding(local: string) {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  let release = () => {}
  const hold = new Promise<void>((resolve) => {
    release = resolve
  })
  onTestFinished(release)
  smtp.setScript({ [local]: [{ at: 'dot', reply: '250 2.0.0 ok', hold }] })
  return { smtp, release }
}

test.each([
  ['behind', -HOUR_MS],
  ['ahead', HOUR_MS],
])(
  'a worker that is an hour %s delivers and keeps the leases of what is under way',
  async (_name, ms) => {
    const { smtp, release } = await startHolding('held')
    const worker = createTestWorker(database, smtp.url, {
      now: off(ms),
      config: { leaseMs: 2_000 },
    })
    await worker.own(WHOLE)
    await send('held@one.test')
    worker.wake()
    await eventually(async () => expect((await rowOf('held@one.test')).state).toBe('data_sent'))
    const { lease_until } = await rowOf('held@one.test')
    // It looks for expired leases as often as it extends its own.
    await eventually(async () => {
      const extended = (await rowOf('held@one.test')).lease_until
      expect(Number(extended) - Number(lease_until)).toBeGreaterThan(2_000)
    })
    expect(await leaseLeft('held@one.test')).toBeLessThanOrEqual(2_001)
    release()
    await eventually(async () => expect((await rowOf('held@one.test')).state).toBe('delivered'))
    expect(await rowOf('held@one.test')).toMatchObject({ attempt: 1, resent: 0 })
    expect(smtp.mailsTo('held@one.test')).toHaveLength(1)
  },
)

test('an owner that is an hour ahead leaves alone what the owner before it has under way', async () => {
  const { smtp, release } = await startHolding('held')
  await send('left@one.test')
  const left = await claimFor(new Date())
  const config = { leaseMs: 120_000 }
  const older = createTestWorker(database, smtp.url, { config })
  const newer = createTestWorker(database, smtp.url, {
    now: off(HOUR_MS),
    config: { leaseMs: 1_000 },
  })
  const first = await older.own(WHOLE)
  await send('held@one.test')
  older.wake()
  await eventually(async () => expect((await rowOf('held@one.test')).state).toBe('data_sent'))
  await first.offer()
  await newer.own(WHOLE)
  expect(await first.ended).toBe('taken')
  // That it takes over what a dead worker has left says that it has looked for expired leases.
  await endLeases(db, left)
  await eventually(async () => expect((await rowOf('left@one.test')).state).toBe('delivered'))
  expect((await rowOf('held@one.test')).state).toBe('data_sent')
  release()
  await eventually(async () => expect((await rowOf('held@one.test')).state).toBe('delivered'))
  expect(await rowOf('held@one.test')).toMatchObject({ attempt: 1, resent: 0 })
})

test.each([
  ['behind', -HOUR_MS],
  ['ahead', HOUR_MS],
])(
  'what a dead worker has left that was an hour %s is taken over when its lease ends',
  async (_name, ms) => {
    const smtp = await startSmtp()
    onTestFinished(() => smtp.stop())
    await send('left@one.test')
    const ids = await claimFor(off(ms)())
    const isWhole = async () => {
      const left = await leaseLeft('left@one.test')
      expect(left).toBeGreaterThan(0)
      expect(left).toBeLessThanOrEqual(60_001)
    }
    await isWhole()
    await extendLeases(trx, ids, DEAD, 60_000)
    await isWhole()
    await endLeases(db, ids)
    // Whoever takes it over may be off by an hour the other way.
    const worker = createTestWorker(database, smtp.url, {
      now: off(-ms),
      config: { leaseMs: 1_000 },
    })
    await worker.own(WHOLE)
    await eventually(async () => expect((await rowOf('left@one.test')).state).toBe('delivered'))
    expect(await rowOf('left@one.test')).toMatchObject({ attempt: 2 })
  },
)

test('a lane forgets a claim when nothing of it is under way any more', async () => {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  const worker = createTestWorker(database, smtp.url, { config: { leaseMs: 1_000 } })
  await worker.own(WHOLE)
  await send('ended@one.test')
  worker.wake()
  await eventually(async () => expect((await rowOf('ended@one.test')).state).toBe('delivered'))
  const { id } = await rowOf('ended@one.test')
  await eventually(async () => {
    const { rows } = await sql`select from delivery_claims where ${id}::bigint = any(ids)`.execute(
      db,
    )
    expect(rows).toEqual([])
  })
})
