// What a lane finds by ids: whatever is accepted is seen, in whatever order transactions end, and without a search.
import fc from 'fast-check'
import { type Kysely, sql, type Transaction } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { releaseDeliveries } from '../../db/deliveries/leases.ts'
import { readyDue } from '../../db/deliveries/ready.ts'
import type { Database } from '../../db/schema.ts'
import { createClaims } from '../../delivery/lane/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { allLines, queueAt, rights } from '../setup/queue.ts'

const { db } = await createTestDatabase({ poolSize: 8 })
const NOW = new Date('2026-03-02T09:00:00Z')
const { after, claimOf } = queueAt(db, NOW)
const ALL = { from: 0, to: 64 }
const LEASE = claimOf().leaseToken

beforeEach(() => sql`truncate deliveries, delivery_claims`.execute(db))

const accept = (on: Kysely<Database>, count: number, workspace = 'ws_1') =>
  sql`
  insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at,
    destination)
  select gen_random_uuid(), ${workspace}, 'dom_1', 'u' || n || '@d.test', n % 64, 'queued', ${NOW}, ${after(1e9)}, ${NOW}, 'd' || n % 64
  from generate_series(1, ${count}::int) n`.execute(on)

/** A lane that has begun on what there is, and searches no more; `shards`: all of them if absent. */
async function createLane(shards = ALL) {
  const over = new AbortController()
  const claims = createClaims({
    run: (work) => transact.one({ db, wake: () => undefined }, (inTrx) => work(inTrx.db)),
    shards,
    quietly: async (_, work) => void (await work()),
    onFound: () => undefined,
    over: over.signal,
  })
  await claims.begin()
  over.abort()
  return {
    claims,
    claim: (limit = 1_000) => claims.claim(claimOf({ ...allLines(limit, shards) })),
    /** Makes ready what is due, as the lane does. */
    async makeReady() {
      const { rows } = await transact.one({ db, wake: () => undefined }, (inTrx) =>
        readyDue(inTrx.db, shards, after(3_600_000), { perShard: 100, rights }),
      )
      claims.add(rows)
    },
  }
}

/** A transaction that ends when the test says so. */
async function openTransaction() {
  const control = await db.startTransaction().execute()
  return { trx: control as Transaction<Database>, commit: () => control.commit().execute() }
}

test('each accepted delivery is claimed once, in whatever order transactions end', async () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ begin: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ add: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ end: fc.nat(5) }),
      fc.record({ claim: fc.integer({ min: 1, max: 20 }) }),
    ),
    { minLength: 5, maxLength: 30 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      await sql`truncate deliveries, delivery_claims`.execute(db)
      const { claim } = await createLane()
      const open: Awaited<ReturnType<typeof openTransaction>>[] = []
      const seen: number[] = []
      let accepted = 0
      const take = async (limit: number) => {
        const { deliveries } = await claim(limit)
        seen.push(...deliveries.map(({ id }) => id))
        return deliveries.length
      }
      for (const step of all) {
        if ('claim' in step) await take(step.claim)
        else if ('end' in step)
          await open.splice(step.end % Math.max(1, open.length), 1)[0]?.commit()
        else {
          const count = 'begin' in step ? step.begin : step.add
          if ('begin' in step && open.length < 4) open.push(await openTransaction())
          const one = open.at(-1)
          await accept(one?.trx ?? db, count)
          accepted += count
        }
      }
      for (const one of open) await one.commit()
      while ((await take(7)) > 0);
      expect(new Set(seen).size).toBe(accepted)
      expect(seen).toHaveLength(accepted)
    }),
    { numRuns: 40 },
  )
})

/**
 * Claims until there is no more, and none is found by a search that a look has begun: a lane is told what that finds.
 * @returns how much of each workspace
 */
async function claimAll({ claim, claims }: Awaited<ReturnType<typeof createLane>>) {
  const counts: Record<string, number> = {}
  for (let more = true; more; ) {
    let claimed = await claim(200)
    if (claimed.count === 0) {
      await claims.begin()
      claimed = await claim(200)
    }
    for (const { workspace_id } of claimed.deliveries) {
      counts[workspace_id] = (counts[workspace_id] ?? 0) + 1
    }
    more = claimed.more || claimed.count > 0
  }
  return counts
}

test.each([3, 2_500])(
  '%i are seen when their transaction ends, although thousands were accepted after them',
  async (late) => {
    const lane = await createLane()
    const slow = await openTransaction()
    await accept(slow.trx, late, 'ws_late')
    await accept(db, 2_500)
    expect(await claimAll(lane)).toEqual({ ws_1: 2_500 })
    await slow.commit()
    expect(await claimAll(lane)).toEqual({ ws_late: late })
  },
)

test('what is given back, or belongs to another lane since, comes into its line through the lane that owns its shard', async () => {
  await accept(db, 64)
  const low = await createLane({ from: 0, to: 32 })
  const high = await createLane({ from: 32, to: 64 })
  const { deliveries } = await low.claim()
  expect(deliveries).toHaveLength(32)
  await transact.one({ db, wake: () => undefined }, (inTrx) =>
    releaseDeliveries(inTrx.db, deliveries, LEASE),
  )
  expect((await low.claim()).count).toBe(0)
  // Of one the destination is known now: it belongs to the other lane.
  await sql`insert into recipient_domains (domain, destination, shard, looked_up_at)
    values ('d.test', 'provider', 40, ${NOW})`.execute(db)
  await sql`update deliveries set recipient = 'u@other.test' where shard <> 5`.execute(db)
  await low.makeReady()
  expect((await low.claim()).count).toBe(31)
  expect((await high.claim()).count).toBe(32)
  await high.makeReady()
  const moved = await high.claim()
  expect(moved.deliveries.map(({ shard, destination }) => [shard, destination])).toEqual([
    [40, 'provider'],
  ])
})
