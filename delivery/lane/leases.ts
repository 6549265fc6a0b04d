// The leases of one owner of a lane: its token, and until when it may send what it has claimed.
import { randomUUID } from 'node:crypto'
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import type { LaneEpoch } from '../../db/deliveries/guards.ts'
import type { ShardRange } from '../../db/deliveries/lines.ts'

export interface LaneLeases {
  token: string
  owner: LaneEpoch
  /** What the lane claims from. */
  shards: ShardRange
  /** When a lease that is given or extended now ends, by the clock of this process: never later than by that of Postgres. */
  next: () => Date
  /** Notes a lease that was given or extended, with the very objects whose attempts ask for it. */
  note: (deliveries: readonly ClaimedDelivery[], until: Date) => void
  /** Whether a lease is still valid by the clock of this process, which may have been frozen. */
  isValid: (delivery: ClaimedDelivery) => boolean
}

export function createLeases(
  { owner, shards }: Pick<LaneLeases, 'owner' | 'shards'>,
  leaseMs: number,
  now: () => Date,
): LaneLeases {
  const until = new WeakMap<ClaimedDelivery, number>()
  return {
    token: randomUUID(),
    owner,
    shards,
    next: () => new Date(now().getTime() + leaseMs),
    note(deliveries, end) {
      for (const delivery of deliveries) until.set(delivery, end.getTime())
    },
    isValid: (delivery) => (until.get(delivery) ?? 0) > now().getTime(),
  }
}
