// How the places of a claim are shared out among a lane's shards.
import type { ShardRange } from '../../db/deliveries/claim.ts'

/** A shard's first share, in parts of an even one: few shards have mail at a time. */
const EVEN_PARTS = 4
const SHARE_MIN = 4

/**
 * A long queue for one destination fills one shard. Each shard gives a claim its share and no more, so that the mail of
 * the others need not wait for that queue; when they leave places free, the share is doubled for the next claim.
 */
export function createShares({ from, to }: ShardRange, random: () => number = Math.random) {
  const shards = Array.from({ length: to - from }, (_, i) => from + i)
  let widened = 1

  return {
    /** The shards in the order in which this claim asks them, starting anywhere, and what one may give. */
    next(limit: number): { shards: number[]; perShard: number } {
      const start = Math.floor(random() * shards.length)
      const even = Math.ceil((limit * EVEN_PARTS) / shards.length)
      const perShard = Math.min(limit, Math.max(SHARE_MIN, even) * widened)
      return { shards: [...shards.slice(start), ...shards.slice(0, start)], perShard }
    },
    /** Hears what a claim gave. @returns whether more is due than it gave */
    learn(claimed: readonly { shard: number }[], limit: number, perShard: number): boolean {
      const counts = new Map<number, number>()
      for (const { shard } of claimed) counts.set(shard, (counts.get(shard) ?? 0) + 1)
      if (claimed.length >= limit) {
        // One shard alone keeps what it has: nobody else wants it.
        if (counts.size > 1) widened = Math.max(1, widened / 2)
        return true
      }
      const cut = [...counts.values()].some((count) => count >= perShard)
      widened = cut ? Math.min(widened * 2, shards.length) : 1
      return cut
    },
  }
}
