// What claims note beside the deliveries that they take: it finds expired leases, since no index knows of a lease.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import {
  extendLeases,
  forgetClaims,
  type NotePlace,
  releaseDeliveries,
} from '../../db/deliveries/leases.ts'
import { listQueueDepths } from '../../db/deliveries/queueDepth.ts'
import { readyDue } from '../../db/deliveries/ready.ts'
import { up as toClaimsInPlace } from '../../db/migrations/2026-11-25-55-claims-in-place.ts'
import { up as toLinePlaces } from '../../db/migrations/2026-11-26-57-line-places.ts'
import { claimInTrx } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { nodesOf } from '../setup/planNodes.ts'
import { allLines, endLeases, expiredLeases, queueAt, rights } from '../setup/queue.ts'

const { db } = await createTestDatabase({ poolSize: 1, settings: { enable_seqscan: 'off' } })
const NOW = new Date('2026-03-02T09:00:00Z')
const LEASE = '00000000-0000-0000-0000-000000000001'
const ALL = { from: 0, to: 64 }
const { after, queue, claimOf } = queueAt(db, NOW)

beforeEach(() => sql`truncate deliveries, delivery_claims`.execute(db))

const inOne = <T>(work: (trx: Trx) => Promise<T>) =>
  transact.one({ db, wake: () => undefined }, (inTrx) => work(inTrx.db))
const claim = (limit = 100) =>
  transact({ db, wake: () => undefined }, (inTrx) =>
    claimInTrx(inTrx.db, claimOf(allLines(limit))),
  ).then(({ deliveries }) => deliveries)
/** Gives deliveries back, and makes them ready as a lane does. */
const giveBack = async (claimed: Awaited<ReturnType<typeof claim>>) => {
  await inOne((trx) => releaseDeliveries(trx, claimed, LEASE))
  await inOne((trx) => readyDue(trx, ALL, after(3_600_000), { perShard: 100, rights }))
}
const forget = async () => {
  let after: NotePlace | undefined
  do after = (await inOne((trx) => forgetClaims(trx, ALL, after))) ?? undefined
  while (after)
}
const expired = async (shards = ALL) =>
  (await expiredLeases(db, shards)).map(({ id }) => id).sort((a, b) => a - b)
const notes = async () =>
  (await db.selectFrom('delivery_claims').select('ids').orderBy('id').execute()).map(
    ({ ids }) => ids.length,
  )

/** How many rows were updated, and how many of them with an entry in an index. */
async function updates() {
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const { rows } = await sql<{ all: number; indexed: number }>`
    select n_tup_upd::int as all, (n_tup_upd - n_tup_hot_upd)::int as indexed
    from pg_stat_user_tables where relname = 'deliveries'`.execute(db)
  return rows[0] ?? { all: Number.NaN, indexed: Number.NaN }
}

test('a claim and an extended lease write no index', async () => {
  await queue(2_000)
  // Of each page a few are claimed: with their leases, a page has no room for a third version of all of its rows.
  await sql`update deliveries set shard = id / 32 % 64`.execute(db)
  await sql`vacuum deliveries`.execute(db)
  const before = await updates()
  const ids = (await claim(200)).map(({ id }) => id)
  // A page without room for another version would need entries, whatever stands in indexes.
  await sql`vacuum deliveries`.execute(db)
  await inOne((trx) => extendLeases(trx, ids, LEASE, 60_000))
  await eventually(async () => {
    const { all, indexed } = await updates()
    expect(all - before.all).toBe(400)
    expect(indexed - before.indexed).toBeLessThan(40)
  })
})

test('a claim of all rows of its pages writes no index either', async () => {
  await queue(2_000)
  const before = await updates()
  await claim(200)
  await eventually(async () => {
    const { all, indexed } = await updates()
    expect(all - before.all).toBe(200)
    expect(indexed - before.indexed).toBeLessThan(10)
  })
})

test('what is under way stands in no line for others', async () => {
  await queue(30)
  const first = await claim(10)
  const second = await claim(100)
  expect(first).toHaveLength(10)
  expect(second).toHaveLength(20)
  expect(await claim(100)).toEqual([])
  await inOne((trx) => releaseDeliveries(trx, first, LEASE))
  expect(await claim(100), 'the lane makes it ready, and so knows of it').toEqual([])
  await giveBack([])
  expect((await claim(100)).map(({ id }) => id).sort()).toEqual(first.map(({ id }) => id).sort())
})

test('an expired lease is found in its shard alone, until nothing of its claim is under way', async () => {
  await queue(20)
  const claimed = await claim(5)
  const rest = await claim(100)
  expect(await notes()).toEqual([5, 15])
  expect(await expired()).toEqual([])
  // The first claim has one left, whose lease was extended since its note was written.
  const [one] = claimed
  await inOne((trx) => releaseDeliveries(trx, claimed.slice(1), LEASE))
  await sql`update delivery_claims set until = now() - interval '1 second'`.execute(db)
  await inOne((trx) => releaseDeliveries(trx, rest, LEASE))
  expect(await expired()).toEqual([])
  await forget()
  expect(await notes()).toEqual([5])
  await endLeases(db, [one?.id ?? 0])
  await forget()
  expect(await expired()).toEqual([one?.id])
  const shard = one?.shard ?? 0
  expect(await expired({ from: shard, to: shard + 1 })).toEqual([one?.id])
  expect(await expired({ from: shard + 1, to: 64 })).toEqual([])
  expect((await listQueueDepths(db, after(0))).filter(({ state }) => state === 'sending')).toEqual([
    { shard, state: 'sending', count: 1, oldest_s: 0 },
  ])
})

test('what is claimed again under the same lease is found once, and its first note goes', async () => {
  await queue(1)
  for (const again of [false, true]) {
    const [one] = await claim()
    if (!again && one) await giveBack([one])
    else await endLeases(db, [one?.id ?? 0])
  }
  expect(await notes()).toEqual([1, 1])
  expect(await expired()).toHaveLength(1)
  await sql`update deliveries set state = 'queued', lease_token = null, lease_until = null`.execute(
    db,
  )
  await forget()
  expect(await notes()).toEqual([])
})

/** Notes of one delivery each, which were written before those of claims. */
const noteBefore = (count: number, shards: { from: number; to: number }, id: number) =>
  sql`
  insert into delivery_claims (token, from_shard, to_shard, ids, until)
  select ${LEASE}, ${shards.from}, ${shards.to}, array[${id}::bigint], now() - interval '1 hour'
  from generate_series(1, ${count}::int)`.execute(db)

test('two hundred notes that a lane cannot see to hide no further one', async () => {
  await queue(64)
  const claimed = await claim()
  const idIn = (shard: number) => claimed.find((one) => one.shard === shard)?.id ?? 0
  await sql`truncate delivery_claims`.execute(db)
  await noteBefore(200, ALL, idIn(60))
  await noteBefore(1, { from: 3, to: 4 }, idIn(3))
  await endLeases(db, [idIn(60), idIn(3)])
  expect(await expired({ from: 0, to: 8 })).toEqual([idIn(3)])
  expect(await expired()).toEqual([idIn(3), idIn(60)].sort((a, b) => a - b))
})

test('a note that cannot go keeps no other from being forgotten', async () => {
  await queue(1)
  const [one] = await claim()
  await endLeases(db, [one?.id ?? 0])
  await noteBefore(600, ALL, 1_000_000)
  await sql`update delivery_claims set until = now() - interval '2 hours' where ids <> array[1000000::bigint]`.execute(
    db,
  )
  await forget()
  expect(await notes()).toEqual([1])
  expect(await expired()).toEqual([one?.id])
})

/** Runs the migrations of the indexes once more. */
const upAgain = async () => {
  await toClaimsInPlace(db as never)
  await toLinePlaces(db as never)
}

/** A claim as the release before makes it, which notes nothing. */
const claimBefore = () => sql`
  update deliveries set state = 'sending', attempt = attempt + 1, lease_token = ${LEASE}, fence = ${LEASE},
    lease_until = now() - interval '1 second'`

test('what a worker of the release before has claimed is found when its lease ends', async () => {
  await queue(3)
  await claimBefore().execute(db)
  expect(await expired()).toHaveLength(3)
})

test('a worker of the release before that looks for expired leases reads no pages that had none', async () => {
  await queue(20_000)
  await sql`vacuum analyze deliveries`.execute(db)
  await sql`reindex index deliveries_lease_pages`.execute(db)
  await sql`update deliveries set state = 'sending', attempt = attempt + 1, lease_token = ${LEASE}, fence = ${LEASE},
    lease_until = now() - interval '1 second' where id = (select max(id) from deliveries)`.execute(
    db,
  )
  const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: Parameters<typeof nodesOf>[0] }] }>`
    explain (analyze, format json) select id from deliveries
    where lease_until <= statement_timestamp() and shard >= 0 and shard < 64 and state in ('sending', 'data_sent')
    order by lease_until limit 500`.execute(db)
  const scans = rows
    .flatMap((row) => [...nodesOf(row['QUERY PLAN'][0].Plan)])
    .filter((node) => /Scan/.test(node['Node Type']))
  expect(scans.map((node) => node['Index Name'] ?? node['Node Type']).sort()).toEqual([
    'Bitmap Heap Scan',
    'deliveries_lease_pages',
  ])
})

test('what was under way before the migration is found, and it may be run again', async () => {
  await queue(3)
  await sql`drop trigger note_claim on deliveries`.execute(db)
  await claimBefore().execute(db)
  await sql`drop table delivery_claims`.execute(db)
  for (let run = 0; run < 2; run++) {
    await upAgain()
    expect(await expired()).toHaveLength(3)
  }
  const { rows } = await sql<{ name: string }>`
    select indexname as name from pg_indexes where tablename = 'deliveries' and indexdef ~ 'lease_until' and indexdef !~ 'USING brin'`.execute(
    db,
  )
  expect(rows).toEqual([])
})

test('a second run of the migrations keeps the indexes of the first, and builds anew one that was interrupted', async () => {
  const oids = async () => {
    const { rows } = await sql<{ name: string; oid: string }>`
      select indexrelid::regclass::text as name, indexrelid::text as oid from pg_index
      where indrelid = 'deliveries'::regclass and indisvalid`.execute(db)
    return new Map(rows.map(({ name, oid }) => [name, oid]))
  }
  const first = await oids()
  await upAgain()
  expect(await oids()).toEqual(first)
  const cut = 'deliveries_line_places'
  await sql`update pg_index set indisvalid = false where indexrelid = to_regclass(${cut})`.execute(
    db,
  )
  await upAgain()
  const second = await oids()
  expect([...second.keys()].sort()).toEqual([...first.keys()].sort())
  expect(
    [...second].filter(([name, oid]) => first.get(name) !== oid).map(([name]) => name),
  ).toEqual([cut])
})
