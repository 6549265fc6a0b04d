// Claims from a long queue: oldest first in each shard, shared among shards, and each delivery once.

import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import type { Db, Trx } from '../../db/connect.ts'
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import { extendLeases, releaseDeliveries } from '../../db/deliveries/leases.ts'
import { markDataSent } from '../../db/deliveries/mark.ts'
import { claimInTrx, type LaneAsked } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { allLines, endLeases, expiredLeases, queueAt } from '../setup/queue.ts'
import { bringTo } from '../setup/states.ts'

const { db } = await createTestDatabase()
const NOW = new Date('2126-03-02T09:00:00Z')
const LEASE = '00000000-0000-0000-0000-000000000001'
const OTHER = '00000000-0000-0000-0000-000000000002'
const HOUR_MS = 3_600_000
const ALL = Array.from({ length: 64 }, (_, i) => i)

const { after, queue, claimOf } = queueAt(db, NOW)

const inOne = <T>(work: (trx: Trx) => Promise<T>, on: Db = db) =>
  transact.one({ db: on, wake: () => undefined }, (inTrx) => work(inTrx.db))
const claim = async (asked: LaneAsked, on: Db = db) =>
  (await inOne((trx) => claimInTrx(trx, asked), on)).deliveries
const release = (claimed: ClaimedDelivery[], lease: string) =>
  inOne((trx) => releaseDeliveries(trx, claimed, lease))
const mark = (ids: number[], lease: string, on: Db = db) =>
  inOne((trx) => markDataSent(trx, ids, lease, NOW), on)

beforeEach(async () => {
  await sql`truncate deliveries`.execute(db)
})

test('each line gives the deliveries that are due longest, one after the other', async () => {
  await queue(6_400, { everyMs: 1 })
  const claimed = await claim(claimOf(allLines(192)))
  expect(claimed).toHaveLength(192)
  const oldest = await db
    .selectFrom('deliveries')
    .select(['id', 'shard'])
    .orderBy('next_at')
    .execute()
  for (const shard of ALL) {
    const wanted = oldest.filter((row) => row.shard === shard).slice(0, 3)
    const found = claimed.filter((row) => row.shard === shard)
    expect(found.map(({ id }) => id).sort()).toEqual(wanted.map(({ id }) => id).sort())
  }
})

test('a long line does not delay the mail of another', async () => {
  await queue(5_000, { dueAt: after(-HOUR_MS) })
  await sql`update deliveries set shard = 5`.execute(db)
  await sql`update deliveries set shard = 6, next_at = ${NOW}
    where id = (select max(id) from deliveries)`.execute(db)
  const claimed = await claim(claimOf())
  expect(claimed.map(({ shard }) => shard)).toContain(6)
  expect(claimed).toHaveLength(100)
})

test('eight concurrent lanes claim everything, and nothing twice', async () => {
  await queue(4_000)
  const seen: ClaimedDelivery[] = []
  const lane = async (n: number) => {
    for (;;) {
      const leaseToken = `00000000-0000-0000-0000-0000000000${10 + n}`
      // Two that look at the same rows do not wait for each other: one of them gets less.
      const claimed = await claim(claimOf({ leaseToken, limit: 70 }))
      seen.push(...claimed)
      const { rows } = await sql`select from deliveries where state = 'queued' limit 1`.execute(db)
      if (rows.length === 0) return
    }
  }
  await Promise.all(ALL.slice(0, 8).map(lane))
  expect(seen).toHaveLength(4_000)
  expect(new Set(seen.map(({ id }) => id)).size).toBe(4_000)
})

test('a released delivery is as before the claim, and only the owner of its lease can release it', async () => {
  await queue(2)
  const { id: first } = await db
    .selectFrom('deliveries')
    .select('id')
    .orderBy('id')
    .executeTakeFirstOrThrow()
  await bringTo(db, { ids: [first] }, 'deferred', NOW)
  await sql`update deliveries set attempt = 4 where id = ${first}`.execute(db)
  const columns = ['state', 'attempt', 'next_at', 'lease_token', 'lease_until'] as const
  const read = () => db.selectFrom('deliveries').select(columns).orderBy('id').execute()
  const before = await read()
  const claimed = await claim(claimOf())
  expect(claimed.map(({ was }) => was).sort()).toEqual(['deferred', 'queued'])
  await release(claimed, OTHER)
  expect((await read()).map(({ state }) => state)).toEqual(['sending', 'sending'])
  await release(claimed, LEASE)
  expect(await read()).toEqual(before)
})

test('only the owner of the lease can mark, and an expired lease is found', async () => {
  await queue(3)
  const ids = (await claim(claimOf())).map(({ id }) => id).sort()
  expect(await mark(ids, OTHER)).toEqual(new Set())
  expect(await mark(ids.slice(0, 1), LEASE)).toEqual(new Set(ids.slice(0, 1)))
  const range = { from: 0, to: 64 }
  expect(await expiredLeases(db, range)).toEqual([])
  await endLeases(db, ids)
  await inOne((trx) => extendLeases(trx, ids.slice(2), LEASE, 60_000))
  const expired = await expiredLeases(db, range)
  expect(expired.map(({ id, state }) => [id, state]).sort()).toEqual([
    [ids[0], 'data_sent'],
    [ids[1], 'sending'],
  ])
})

test('the mark data_sent updates no index', async () => {
  const hot = async () => {
    const { rows } = await sql<{ hot: number }>`
      select n_tup_hot_upd as hot from pg_stat_user_tables where relname = 'deliveries'`.execute(db)
    return rows[0]?.hot ?? 0
  }
  const flushed = async (work: (one: typeof db) => Promise<unknown>) => {
    await db.connection().execute(async (one) => {
      await work(one)
      await sql`select pg_stat_force_next_flush()`.execute(one)
      await sql`select 1`.execute(one)
    })
    return hot()
  }
  // A snapshot elsewhere (the server analyzes a table) can keep old row versions in place: then try once more.
  await eventually(async () => {
    await sql`truncate deliveries`.execute(db)
    await queue(200)
    const claimed = await claim(claimOf(allLines(200)))
    await sql`vacuum deliveries`.execute(db)
    const before = await flushed((one) => sql`select 1`.execute(one))
    const ids = claimed.map(({ id }) => id)
    const after = await flushed((one) => mark(ids, LEASE, one))
    expect(after - before).toBeGreaterThan(100)
  })
})

test('what a claim settles without sending takes a place of it, and the next claim may find more', async () => {
  await queue(40, { everyMs: 1 })
  await sql`update deliveries set shard = 1, recipient = 'gone@mail.test'`.execute(db)
  const { rows } = await sql<{
    workspace_id: string
  }>`select workspace_id from deliveries limit 1`.execute(db)
  await sql`insert into suppressions (workspace_id, email, reason, created_at)
    values (${rows[0]?.workspace_id}, 'gone@mail.test', 'manual', ${NOW})`.execute(db)
  const found = await inOne((trx) => claimInTrx(trx, claimOf({ limit: 7 })))
  expect(found).toMatchObject({ deliveries: [], count: 7, more: true })
})

test('only a lease that is still ours is extended', async () => {
  await queue(2, { everyMs: 1 })
  const [ours, taken] = await claim(claimOf({ limit: 2 }))
  await sql`update deliveries set state = 'queued', lease_token = null, lease_until = null where id = ${taken?.id}`.execute(
    db,
  )
  const ids = [ours?.id ?? 0, taken?.id ?? 0]
  const extended = await inOne((trx) => extendLeases(trx, ids, claimOf({}).leaseToken, HOUR_MS))
  expect([...extended]).toEqual([ours?.id])
})
