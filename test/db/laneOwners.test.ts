// Delivery lanes without Temporal: one owner at a time, which hands its lane over without a pause and without cutting
// off what is under way, and which can claim and mark nothing once somebody else has taken the lane.

import { sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import { markDataSent } from '../../db/deliveries/mark.ts'
import { offerLane, renewLane, takeLane } from '../../db/lanes/writes.ts'
import { UNKNOWN_RESPONSE } from '../../delivery/nextState.ts'
import { acceptMail } from '../setup/acceptedMail.ts'
import { claimInTrx } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { allLines, endLeases } from '../setup/queue.ts'
import { startSmtp } from '../setup/smtp.ts'

const database = await createTestDatabase({ poolSize: 20 })
const { db } = database
const { workspaceId, domainId } = await seedWorkspace(db)

beforeEach(async () => {
  await sql`truncate deliveries, emails, email_events, delivery_attempts, lanes, outbox`.execute(db)
})

const send = (to: string, change: { category?: 'marketing' } = {}) =>
  acceptMail({ db, workspaceId, domainId }, { text: 'Hello', to: [to], ...change })

const rowOf = (to: string) =>
  db.selectFrom('deliveries').selectAll().where('recipient', '=', to).executeTakeFirstOrThrow()

const stateOf = async (to: string) => (await rowOf(to)).state

/** A server that keeps one recipient waiting. */
async function startHolding(local: string, at: 'rcpt' | 'dot') {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  let release = () => {}
  const hold = new Promise<void>((resolve) => {
    release = resolve
  })
  onTestFinished(release)
  smtp.setScript({ [local]: [{ at, reply: '250 2.1.5 ok', hold }] })
  return { smtp, release }
}

const WHOLE = { lane: 0, lanes: 1 }

test('a newer owner wins: the older one claims nothing, marks nothing, and gives back what it had not marked', async () => {
  const { smtp, release } = await startHolding('held', 'rcpt')
  const [older, newer] = [
    createTestWorker(database, smtp.url),
    createTestWorker(database, smtp.url),
  ]
  const first = await older.own(WHOLE)
  await send('held@one.test')
  older.wake()
  await eventually(() => expect(smtp.attempts.get('held@one.test')).toBe(1))

  await newer.own(WHOLE)
  await send('next@one.test')
  older.wake()
  newer.wake()
  await eventually(async () => expect(await stateOf('next@one.test')).toBe('delivered'))
  expect(await stateOf('held@one.test')).toBe('sending')
  release()
  // Long before its lease ends.
  await eventually(async () => expect(await stateOf('held@one.test')).toBe('delivered'))
  expect(await first.ended).toBe('taken')
  expect(smtp.attempts.get('held@one.test')).toBe(2)
  expect(smtp.mails.map(({ to }) => to).sort()).toEqual([['held@one.test'], ['next@one.test']])
})

test.each(['rcpt', 'dot'] as const)(
  'an offered lane moves without a pause and without cutting off a mail at %s',
  async (at) => {
    const { smtp, release } = await startHolding('held', at)
    const config = { leaseMs: 1_000 }
    const older = createTestWorker(database, smtp.url, { config })
    const newer = createTestWorker(database, smtp.url, { config })
    const first = await older.own(WHOLE)
    await send('held@one.test')
    older.wake()
    const under = at === 'dot' ? 'data_sent' : 'sending'
    await eventually(async () => {
      expect(smtp.attempts.get('held@one.test')).toBe(1)
      expect(await stateOf('held@one.test')).toBe(under)
    })
    await first.offer()
    await send('between@one.test')
    older.wake()
    await eventually(async () => expect(await stateOf('between@one.test')).toBe('delivered'))

    await newer.own(WHOLE)
    expect(await first.ended).toBe('taken')
    await send('next@one.test')
    newer.wake()
    await eventually(async () => expect(await stateOf('next@one.test')).toBe('delivered'))

    // Its lease is extended for as long as it takes, while the newer owner looks for expired ones.
    const { lease_until } = await rowOf('held@one.test')
    await eventually(async () => {
      const extended = (await rowOf('held@one.test')).lease_until
      expect(Number(extended) - Number(lease_until)).toBeGreaterThan(2 * config.leaseMs)
    })
    release()
    await eventually(async () => expect(await stateOf('held@one.test')).toBe('delivered'))
    expect(await rowOf('held@one.test')).toMatchObject({ attempt: 1, resent: 0 })
    expect(smtp.mailsTo('held@one.test')).toHaveLength(1)
  },
)

test('a process that stops finishes what is under way, however long the lease is', async () => {
  const { smtp, release } = await startHolding('held', 'dot')
  const config = { leaseMs: 1_000, drainMs: 60_000 }
  const worker = createTestWorker(database, smtp.url, { config })
  const owned = await worker.own(WHOLE)
  await send('held@one.test')
  worker.wake()
  await eventually(async () => expect(await stateOf('held@one.test')).toBe('data_sent'))
  const { lease_until } = await rowOf('held@one.test')
  const stopped = worker.stop()
  expect(await owned.ended).toBe('stopped')
  await send('late@one.test')
  await eventually(async () => {
    const extended = (await rowOf('held@one.test')).lease_until
    expect(Number(extended) - Number(lease_until)).toBeGreaterThan(config.leaseMs)
  })
  release()
  await stopped
  expect(await rowOf('held@one.test')).toMatchObject({ state: 'delivered', attempt: 1, resent: 0 })
  expect(await stateOf('late@one.test'), 'it claims nothing more').toBe('queued')
})

test('when its time is over it gives back what is not marked and settles what is marked as unknown', async () => {
  const { smtp } = await startHolding('rcpt', 'rcpt')
  const never = new Promise<void>(() => {})
  const holds = (at: 'rcpt' | 'dot') => [{ at, reply: '250 2.0.0 ok', hold: never }]
  smtp.setScript({ rcpt: holds('rcpt'), dot: holds('dot'), marketing: holds('dot') })
  const worker = createTestWorker(database, smtp.url, { config: { drainMs: 100 } })
  await worker.own(WHOLE)
  await send('rcpt@one.test')
  await send('dot@one.test')
  await send('marketing@one.test', { category: 'marketing' })
  worker.wake()
  const addresses = ['rcpt@one.test', 'dot@one.test', 'marketing@one.test']
  const states = () => Promise.all(addresses.map(stateOf))
  await eventually(async () => {
    expect(await states()).toEqual(['sending', 'data_sent', 'data_sent'])
  })
  await worker.stop()
  const rows = await Promise.all(addresses.map(rowOf))
  expect(rows).toMatchObject([
    { state: 'queued', attempt: 0, resent: 0, lease_token: null },
    { state: 'queued', attempt: 1, resent: 1, lease_token: null, last_response: UNKNOWN_RESPONSE },
    { state: 'unknown', attempt: 1, resent: 0, lease_token: null },
  ])
})

test('a lane that is taken for another count of lanes loses only its claims', async () => {
  const { smtp } = await startHolding('none', 'rcpt')
  const [older, newer] = [
    createTestWorker(database, smtp.url),
    createTestWorker(database, smtp.url),
  ]
  const whole = await older.own(WHOLE)
  await newer.own({ lane: 1, lanes: 2 })
  expect(await whole.ended).toBe('taken')
  await older.own({ lane: 0, lanes: 2 })
  const to = Array.from({ length: 20 }, (_, i) => `a@d${i}.test`)
  await Promise.all(to.map((address) => send(address)))
  older.wake()
  newer.wake()
  await eventually(() => expect(smtp.mails).toHaveLength(20))
  const rows = await db.selectFrom('lanes').selectAll().orderBy('lane').execute()
  expect(rows).toMatchObject([
    { lane: 0, lanes: 2, shard_from: 0, shard_to: 32, epoch: 3, offered: false },
    { lane: 1, lanes: 2, shard_from: 32, shard_to: 64, epoch: 2, offered: false },
  ])
})

const trx = db as unknown as Trx
const take = (over: { lane?: number; from?: number; to?: number } = {}) =>
  db.transaction().execute((own) => {
    const until = new Date()
    return takeLane(own as Trx, { lane: 0, lanes: 1, from: 0, to: 64, owner: 'p', until, ...over })
  })

test('twenty owners at once: one of them can renew, claim and mark', async () => {
  await send('a@one.test')
  const owners = await Promise.all(Array.from({ length: 20 }, () => take()))
  expect(new Set(owners.map(({ epoch }) => epoch)).size).toBe(20)
  const renewed = await Promise.all(owners.map((owner) => renewLane(trx, owner, new Date())))
  expect(renewed.filter(Boolean)).toHaveLength(1)
  const newest = owners.reduce((a, b) => (a.epoch > b.epoch ? a : b))
  const shards = { from: 0, to: 64 }
  const token = (n: number) => `00000000-0000-0000-0000-0000000000${10 + n}`
  const claim = async (owner: typeof newest, n: number) => {
    const lease = { leaseToken: token(n), leaseMs: 60_000, now: new Date() }
    const asked = { ...allLines(9, shards), ...lease, owner }
    return (await claimInTrx(trx, asked)).deliveries
  }
  for (const [n, owner] of owners.entries()) {
    if (owner !== newest) expect(await claim(owner, n)).toEqual([])
  }
  const n = owners.indexOf(newest)
  const ids = (await claim(newest, n)).map(({ id }) => id)
  expect(ids).toHaveLength(1)

  const next = await take()
  expect(await markDataSent(trx, ids, token(n), new Date(), newest)).toEqual(new Set())
  // Its own mail is one thing, and that of a lane that was offered another.
  await offerLane(trx, next)
  await take()
  expect(await markDataSent(trx, ids, token(n), new Date(), next)).toEqual(new Set(ids))
})

test('a process that was frozen cannot mark with a time of long ago', async () => {
  await send('a@one.test')
  const token = '00000000-0000-0000-0000-000000000001'
  const before = new Date(Date.now() - 60_000)
  const lease = { leaseToken: token, leaseMs: 1_000, now: new Date() }
  const shards = { from: 0, to: 64 }
  const claimed = await claimInTrx(trx, {
    ...allLines(1, shards),
    ...lease,
  })
  const ids = claimed.deliveries.map(({ id }) => id)
  expect(ids).toHaveLength(1)
  await endLeases(db, ids)
  expect(await markDataSent(trx, ids, token, before)).toEqual(new Set())
})

test('whoever is frozen while it takes a lane keeps nobody from the others for long', async () => {
  await transact({ db, wake: () => undefined }, async ({ db: trx }) => {
    await takeLane(trx, { lane: 0, lanes: 1, from: 0, to: 64, owner: 'one', until: new Date() })
    const { rows } = await sql`show idle_in_transaction_session_timeout`.execute(trx)
    expect(rows).toEqual([{ idle_in_transaction_session_timeout: '5s' }])
  })
})
