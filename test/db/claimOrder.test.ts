// The order of claims: classes by weight, workspaces in turn, and only destinations that have room.
// Long because each case queues by the helpers at its head, with one clock.

import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import type { Db } from '../../db/connect.ts'
import { readyDue } from '../../db/deliveries/ready.ts'
import { moveLines } from '../../db/recipient-domains/destinations.ts'
import type { LaneClaim } from '../../delivery/lane/claims.ts'
import { createDestinations } from '../../delivery/lane/destinations.ts'
import { shardOf } from '../../rules/shard.ts'
import { createLog } from '../../runtime/log.ts'
import { acceptMail } from '../setup/acceptedMail.ts'
import { claimInTrx, createTestLane, type LaneAsked } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { queueAt, rights } from '../setup/queue.ts'

const { db } = await createTestDatabase({ settings: { enable_seqscan: 'off' } })
const NOW = new Date('2126-03-02T09:00:00Z')
const { after, claimOf } = queueAt(db, NOW)
const ALL = { from: 0, to: 64 }
const log = createLog('lane', 'silent')

beforeEach(() => sql`truncate deliveries, recipient_domains`.execute(db))

interface Line {
  count: number
  class?: number
  workspace?: string
  destination?: string
  shard?: number
  ready?: boolean
  /** ms after NOW. */
  due?: number
}

async function queue({ count, ...line }: Line): Promise<void> {
  const { workspace = 'ws_1', destination = 'one.test', shard = 5, ready = true } = line
  await sql`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at,
      created_at, class, destination, ready)
    select gen_random_uuid(), ${workspace}, 'dom_1', 'u' || i || '@' || ${destination}::text, ${shard}, 'queued',
      ${after(line.due ?? 0)}::timestamptz + i * interval '1 ms', ${after(1e9)}, ${NOW}, ${line.class ?? 0},
      ${destination}, ${ready}
    from generate_series(1, ${count}::int) i`.execute(db)
}

/** A claim of a lane that has just begun. */
const claim = (over: Partial<LaneAsked> = {}): Promise<LaneClaim> =>
  transact({ db, wake: () => undefined }, (inTrx) =>
    claimInTrx(inTrx.db, claimOf({ now: after(3_600_000), ...over })),
  )

/** Claims of one lane, which goes on from one to the next. */
function lane() {
  const { claims, use } = createTestLane(ALL)
  return {
    claims,
    claim: (over: Partial<LaneAsked> = {}): Promise<LaneClaim> =>
      transact({ db, wake: () => undefined }, async (inTrx) => {
        await use(inTrx.db)
        return claims.claim(claimOf({ now: after(3_600_000), ...over }))
      }),
  }
}

/** How many of each value of a column. */
const countsOf = ({ deliveries }: LaneClaim, column: 'class' | 'workspace_id' | 'destination') => {
  const counts: Record<string, number> = {}
  for (const one of deliveries) counts[one[column]] = (counts[one[column]] ?? 0) + 1
  return counts
}

test('classes share the places by weight, and what one leaves free the others get', async () => {
  for (const place of [0, 1, 2]) await queue({ count: 300, class: place })
  expect(countsOf(await claim(), 'class')).toEqual({
    0: 60,
    1: 30,
    2: 10,
  })
  await sql`delete from deliveries where class = 0`.execute(db)
  expect(countsOf(await claim(), 'class')).toEqual({ 1: 75, 2: 25 })
  await sql`delete from deliveries where class = 1`.execute(db)
  expect(countsOf(await claim(), 'class')).toEqual({ 2: 100 })
})

test('a campaign of another workspace to the same destination does not keep a receipt waiting', async () => {
  await queue({ count: 20_000, class: 2, workspace: 'ws_campaign', due: -3_600_000 })
  await queue({ count: 1, class: 0, workspace: 'ws_shop' })
  // A destination with room for five: the receipt is among them.
  const claimed = await claim({ rooms: { known: new Map([['one.test', 5]]), other: 100 } })
  expect(countsOf(claimed, 'workspace_id')).toEqual({ ws_campaign: 4, ws_shop: 1 })
})

test('workspaces take turns, whatever they have waiting', async () => {
  await queue({ count: 5_000, workspace: 'ws_a', due: -3_600_000 })
  for (let n = 0; n < 9; n++) {
    await queue({ count: 100, workspace: 'ws_a', destination: `a${n}.test`, due: -3_600_000 })
  }
  await queue({ count: 100, workspace: 'ws_b', destination: 'z.test' })
  await queue({ count: 30, workspace: 'ws_c', destination: 'zz.test' })
  const { claim } = lane()
  // At first it knows one delivery of each line.
  await claim({ limit: 30 })
  expect(countsOf(await claim({ limit: 60 }), 'workspace_id')).toEqual({
    ws_a: 20,
    ws_b: 20,
    ws_c: 20,
  })
})

test('only destinations with room are taken, and full ones are told', async () => {
  for (let n = 0; n < 50; n++) {
    await queue({ count: 20, workspace: `ws_${n}`, destination: 'full.test', shard: 1 })
  }
  await queue({ count: 50, destination: 'small.test', shard: 1 })
  await queue({ count: 50, destination: 'unknown.test', shard: 2 })
  const rooms = {
    known: new Map([
      ['full.test', 0],
      ['small.test', 3],
    ]),
    other: 7,
  }
  const claimed = await claim({ rooms })
  expect(countsOf(claimed, 'destination')).toEqual({ 'small.test': 3, 'unknown.test': 7 })
  expect(claimed.full.sort()).toEqual(['full.test', 'small.test', 'unknown.test'])
  expect(claimed.more).toBe(false)
})

test('the room of a destination holds over all its lines', async () => {
  for (const place of [0, 1, 2]) {
    for (const workspace of ['ws_a', 'ws_b']) await queue({ count: 30, class: place, workspace })
  }
  const rooms = { known: new Map([['one.test', 20]]), other: 0 }
  const { claim } = lane()
  for (let n = 0; n < 3; n++) {
    const claimed = await claim({ rooms })
    expect(countsOf(claimed, 'class')).toEqual({ 0: 12, 1: 6, 2: 2 })
    expect(countsOf(claimed, 'workspace_id')).toEqual({ ws_a: 10, ws_b: 10 })
  }
})

test('thousands of lines are claimed, each once', async () => {
  await sql`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at,
      created_at, class, destination)
    select 'e', 'ws_' || i % 7, 'dom_1', 'u@d' || i || '.test', i % 64, 'queued', ${NOW}, ${after(1e9)}, ${NOW},
      i % 3, 'd' || i || '.test'
    from generate_series(1, 2000) i`.execute(db)
  const { claim } = lane()
  const seen: number[] = []
  let claims = 0
  for (let more = true; more; claims++) {
    const claimed = await claim({ limit: 100 })
    seen.push(...claimed.deliveries.map(({ id }) => id))
    more = claimed.more
    expect(claims, 'claims until all lines were seen').toBeLessThan(25)
  }
  expect(new Set(seen).size).toBe(2_000)
  expect(seen).toHaveLength(2_000)
})

test('what is due later is not looked at until it is made ready, and comes to the destination learned since', async () => {
  await queue({ count: 30, ready: false, due: 5_000 })
  await queue({ count: 10, ready: false, due: 50_000, destination: 'two.test', shard: 9 })
  await sql`insert into recipient_domains (domain, destination, shard, looked_up_at)
    values ('one.test', 'provider', 33, ${NOW})`.execute(db)
  const at = { now: after(10_000) }
  expect((await claim(at)).count).toBe(0)
  const ready = (limit: number) =>
    transact
      .one({ db, wake: () => undefined }, (inTrx) =>
        readyDue(inTrx.db, ALL, at.now, { perShard: limit, rights }),
      )
      .then(({ count, crowded }) => ({ count, more: crowded.size > 0 }))
  expect([await ready(20), await ready(20), await ready(20)]).toMatchObject([
    { count: 20, more: true },
    { count: 10, more: false },
    { count: 0, more: false },
  ])
  const claimed = await claim(at)
  expect(countsOf(claimed, 'destination')).toEqual({ provider: 30 })
  expect(new Set(claimed.deliveries.map(({ shard }) => shard))).toEqual(new Set([33]))
})

test('mail that waits for a domain moves to its destination, and further mail is accepted there', async () => {
  for (const place of [0, 2]) await queue({ count: 700, class: place, shard: shardOf('one.test') })
  await queue({ count: 3, workspace: 'ws_2', shard: shardOf('one.test') })
  await queue({ count: 3, destination: 'two.test', shard: shardOf('one.test') })
  const learn = createDestinations({ db, now: () => NOW, wake: () => undefined, log })
  for (let n = 0; n < 3; n++) learn('one.test', 'provider')
  // What has moved the lane of its shard makes ready.
  await eventually(async () => {
    const { rows } = await sql<{
      destination: string
      shard: number
      ready: boolean
      count: number
    }>`
      select destination, shard, ready, count(*)::int as count from deliveries group by 1, 2, 3 order by 1`.execute(
      db,
    )
    expect(rows).toEqual([
      { destination: 'provider', shard: shardOf('provider'), ready: false, count: 1_403 },
      { destination: 'two.test', shard: shardOf('one.test'), ready: true, count: 3 },
    ])
  })
  const { workspaceId, domainId } = await seedWorkspace(db)
  const id = await acceptMail({ db, workspaceId, domainId }, { to: ['A@One.test', 'b@other.test'] })
  const written = await db
    .selectFrom('deliveries')
    .select(['destination', 'shard', 'class', 'ready'])
    .where('email_id', '=', id)
    .orderBy('id')
    .execute()
  expect(written).toEqual([
    { destination: 'provider', shard: shardOf('provider'), class: 0, ready: true },
    { destination: 'other.test', shard: shardOf('other.test'), class: 0, ready: true },
  ])
})

/** How many deliveries this connection has read. What it read in its last transactions may count too. */
async function rowsRead(trx: Db): Promise<number> {
  const { rows } = await sql<{ read: number }>`
    select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as read from pg_stat_xact_user_tables
    where relname = 'deliveries'`.execute(trx)
  return rows[0]?.read ?? Number.NaN
}

test('a domain that leaves a provider has a bounded part of its lines read', async () => {
  const shard = shardOf('google')
  for (const workspace of ['ws_1', 'ws_2', 'ws_3']) {
    await queue({ count: 3_000, workspace, shard, destination: 'one.test' })
  }
  await sql`update deliveries set destination = 'google',
    recipient = case when next_at < ${after(5)} then 'a@left.test' else recipient end`.execute(db)
  await sql`vacuum analyze deliveries`.execute(db)
  const from = { destination: 'google', shard }
  const to = { domain: 'left.test', destination: '192.0.2.1', shard: 7 }
  const limits = { move: 500, perLine: 100, inAll: 150 }
  const [moved, read] = await transact.one({ db, wake: () => undefined }, async (inTrx) => {
    const before = await rowsRead(inTrx.db)
    const count = await moveLines(inTrx.db, from, to, limits)
    return [count, (await rowsRead(inTrx.db)) - before]
  })
  expect(moved).toBe(8)
  expect(read).toBeLessThan(300)
})

test('what becomes due in one shard does not keep that of others from being ready', async () => {
  await queue({ count: 500, ready: false, due: -3_600_000, shard: 1 })
  await queue({ count: 1, ready: false, shard: 60, destination: 'two.test' })
  await transact.one({ db, wake: () => undefined }, (inTrx) =>
    readyDue(inTrx.db, ALL, after(1_000), { perShard: 50, rights }),
  )
  const { rows } = await sql<{ shard: number; count: number }>`
    select shard, count(*)::int as count from deliveries where ready group by 1 order by 1`.execute(
    db,
  )
  expect(rows).toEqual([
    { shard: 1, count: 50 },
    { shard: 60, count: 1 },
  ])
})
