// Several lanes beside each other: each claims what is in its own shards alone, and finds it again when its owner has died.
import fc from 'fast-check'
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import type { ShardRange } from '../../db/deliveries/lines.ts'
import { laneShards } from '../../delivery/lane/shards.ts'
import { claimInTrx, createTestLane } from '../setup/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { allLines, endLeases, expiredLeases, queueAt } from '../setup/queue.ts'

const { db } = await createTestDatabase({ settings: { enable_seqscan: 'off' } })
const { queue, claimOf } = queueAt(db, new Date('2026-03-02T09:00:00Z'))

beforeEach(() => sql`truncate deliveries, delivery_claims`.execute(db))

const claim = (shards: ShardRange, limit = 100) =>
  transact({ db, wake: () => undefined }, (inTrx) =>
    claimInTrx(inTrx.db, claimOf(allLines(limit, shards))),
  )
const sorted = (ids: readonly number[]) => [...ids].sort((a, b) => a - b)

test('a lane takes nothing of the last shard of the lane before it', async () => {
  await queue(64)
  await sql`update deliveries set shard = case when id % 2 = 0 then 7 else 8 end`.execute(db)
  const { deliveries } = await claim({ from: 8, to: 16 })
  expect(deliveries).toHaveLength(32)
  expect(new Set(deliveries.map(({ shard }) => shard))).toEqual(new Set([8]))
  expect(
    await db.selectFrom('delivery_claims').select(['from_shard', 'to_shard']).execute(),
  ).toEqual([{ from_shard: 8, to_shard: 9 }])
})

test('what a lane has had a turn for it goes on with in its own shards', async () => {
  await queue(640)
  const shards = { from: 8, to: 16 }
  const { claims, use } = createTestLane(shards)
  const taken: number[] = []
  for (let turn = 0; turn < 30; turn++) {
    const { deliveries } = await transact({ db, wake: () => undefined }, async (inTrx) => {
      await use(inTrx.db)
      return claims.claim(claimOf(allLines(7, shards)))
    })
    taken.push(...deliveries.map(({ shard }) => shard))
  }
  expect(new Set(taken)).toEqual(new Set([8, 9, 10, 11, 12, 13, 14, 15]))
  expect(taken).toHaveLength(80)
})

test('whatever lanes have claimed, lanes of any number find it when the leases have ended', async () => {
  const lanes = fc.integer({ min: 1, max: 64 })
  const limits = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(lanes, lanes, limits, fc.nat(), async (before, now, sizes, seed) => {
      await sql`truncate deliveries, delivery_claims`.execute(db)
      await queue(200)
      const claimed: number[] = []
      for (const [i, size] of sizes.entries()) {
        const shards = laneShards((seed + i * 7) % before, before)
        const { deliveries } = await claim(shards, size)
        for (const { id, shard } of deliveries) {
          expect(shard).toBeGreaterThanOrEqual(shards.from)
          expect(shard).toBeLessThan(shards.to)
          claimed.push(id)
        }
      }
      await endLeases(db, claimed)
      const found: number[] = []
      for (let lane = 0; lane < now; lane++) {
        const expired = await expiredLeases(db, laneShards(lane, now))
        found.push(...expired.map(({ id }) => id))
      }
      expect(sorted(found)).toEqual(sorted(claimed))
    }),
    { numRuns: 25 },
  )
})
