// Which shards a delivery lane owns.
import type { ShardRange } from '../../db/deliveries/claim.ts'
import { limits } from '../../rules/limits.ts'

/** The shards of one of so many lanes: together they are all, and none twice. */
export function laneShards(lane: number, lanes: number): ShardRange {
  return {
    from: Math.floor((lane * limits.shards) / lanes),
    to: Math.floor(((lane + 1) * limits.shards) / lanes),
  }
}
