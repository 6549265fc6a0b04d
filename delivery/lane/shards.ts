// Which shards a delivery lane owns.
import type { ShardRange } from '../../db/deliveries/lines.ts'
import { limits } from '../../rules/limits.ts'

/** The shards of lane number `lane` of `lanes` lanes. Every shard belongs to exactly one lane. */
export function laneShards(lane: number, lanes: number): ShardRange {
  return {
    from: Math.floor((lane * limits.shards) / lanes),
    to: Math.floor(((lane + 1) * limits.shards) / lanes),
  }
}
