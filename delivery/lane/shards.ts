// Which shards a delivery lane owns, and what it leaves to others.
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import type { ShardRange } from '../../db/deliveries/lines.ts'
import { addressDomain } from '../../rules/addresses.ts'
import { limits } from '../../rules/limits.ts'
import { shardOf } from '../../rules/shard.ts'

/** The shards of lane number `lane` of `lanes` lanes. Every shard belongs to exactly one lane. */
export function laneShards(lane: number, lanes: number): ShardRange {
  return {
    from: Math.floor((lane * limits.shards) / lanes),
    to: Math.floor(((lane + 1) * limits.shards) / lanes),
  }
}

/**
 * Whether a delivery may go to the destination that was found for its domain. The first mail to a domain is claimed where the
 * shard of the domain is; it leaves from the lane that has the destination, so that each destination has one sender. That is
 * asked only of mail whose destination nobody had found: a domain's owner could let its servers change in turn, and its mail
 * would go from lane to lane.
 */
export function mayGoTo(
  { recipient, destination }: Pick<ClaimedDelivery, 'recipient' | 'destination'>,
  found: string,
  shards: ShardRange,
): boolean {
  const isNew = destination === '' || destination === addressDomain(recipient).toLowerCase()
  const shard = shardOf(found)
  return !isNew || (shard >= shards.from && shard < shards.to)
}
