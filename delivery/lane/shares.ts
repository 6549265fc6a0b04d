// Divides the places of a claim among the shards of a lane.
import type { ShardRange } from '../../db/deliveries/claim.ts'

/** A shard's first share is so many times an even share, because few shards have mail at a time. */
const EVEN_PARTS = 4
const SHARE_MIN = 4

/**
 * A long queue for one destination fills one shard. A claim takes no more than a share from each shard, so that
 * the mail of other shards does not wait for that queue. If places stay free, the share is doubled for the next
 * claim.
 */
export function createShares({ from, to }: ShardRange, random: () => number = Math.random) {
  const shards = Array.from({ length: to - from }, (_, i) => from + i)
  let widened = 1

  return {
    /**
     * The shards in the order of this claim, from a random start, and how many deliveries it may take from each.
     */
    next(limit: number): { shards: number[]; perShard: number } {
      const start = Math.floor(random() * shards.length)
      const even = Math.ceil((limit * EVEN_PARTS) / shards.length)
      const perShard = Math.min(limit, Math.max(SHARE_MIN, even) * widened)
      return { shards: [...shards.slice(start), ...shards.slice(0, start)], perShard }
    },
    /** Adjusts the share to what a claim returned. @returns whether more is due */
    learn(claimed: readonly { shard: number }[], limit: number, perShard: number): boolean {
      const counts = new Map<number, number>()
      for (const { shard } of claimed) counts.set(shard, (counts.get(shard) ?? 0) + 1)
      if (claimed.length >= limit) {
        // If only one shard had mail, no other needs a part of its share.
        if (counts.size > 1) widened = Math.max(1, widened / 2)
        return true
      }
      const cut = [...counts.values()].some((count) => count >= perShard)
      widened = cut ? Math.min(widened * 2, shards.length) : 1
      return cut
    },
  }
}
