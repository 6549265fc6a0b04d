// The leases of one owner of a lane: its token, and until when it may send what it has claimed.
import { randomUUID } from 'node:crypto'
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import type { LaneEpoch } from '../../db/deliveries/guards.ts'

export interface LaneLeases {
  token: string
  owner: LaneEpoch
  /** When a lease that is given or extended now ends. */
  next: () => Date
  /** Notes a lease that was given or extended. */
  note: (deliveries: readonly ClaimedDelivery[], until: Date) => void
  /** Whether a lease is still valid by the clock of this process, which may have been frozen. */
  isValid: (delivery: ClaimedDelivery) => boolean
}

export function createLeases(owner: LaneEpoch, leaseMs: number, now: () => Date): LaneLeases {
  const until = new WeakMap<ClaimedDelivery, number>()
  return {
    token: randomUUID(),
    owner,
    next: () => new Date(now().getTime() + leaseMs),
    note(deliveries, end) {
      for (const delivery of deliveries) until.set(delivery, end.getTime())
    },
    isValid: (delivery) => (until.get(delivery) ?? 0) > now().getTime(),
  }
}
