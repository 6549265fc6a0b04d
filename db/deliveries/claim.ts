// Claims due deliveries: makes them `sending` with a lease.

import { sql } from 'kysely'
import type { WaitingState } from '../../rules/states.ts'
import type { Trx } from '../connect.ts'
import type { Row } from '../schema.ts'
import { isWaiting } from './guards.ts'

/** A half-open range of shards that one lane owns. */
export interface ShardRange {
  from: number
  to: number
}

export type ClaimedDelivery = Pick<
  Row<'deliveries'>,
  | 'id'
  | 'email_id'
  | 'workspace_id'
  | 'domain_id'
  | 'recipient'
  | 'shard'
  | 'attempt'
  | 'expires_at'
  | 'resent'
  | 'last_response'
  | 'slot_day'
> & {
  /** The state before the claim, to which it returns if no attempt is made. */
  was: WaitingState
}

export interface Claim {
  /** In the order in which they are read. */
  shards: readonly number[]
  limit: number
  /** The most deliveries of one shard, so that a long queue for one destination does not delay all others. */
  perShard: number
  leaseToken: string
  leaseUntil: Date
  now: Date
}

/**
 * Claims up to `limit` due deliveries and gives them a lease. From each shard it takes those that are due longest.
 */
export async function claimDeliveries(trx: Trx, claim: Claim): Promise<ClaimedDelivery[]> {
  // Planned at each call (no `with`, so no name), because a plan for an empty queue is slow for a million rows.
  const { rows } = await sql<ClaimedDelivery>`
    update deliveries d
    set state = 'sending', attempt = attempt + 1,
        lease_token = ${claim.leaseToken}, lease_until = ${claim.leaseUntil}
    from (
      select due.id, due.state from unnest(${[...claim.shards]}::smallint[]) as s (shard)
      cross join lateral (
        select id, state from deliveries
        where shard = s.shard and lease_until is null and settled_at is null and ${isWaiting}
          and next_at <= ${claim.now}
        order by next_at limit ${claim.perShard}
        for update skip locked
      ) due
      limit ${claim.limit}
    ) due
    where d.id = due.id
    returning d.id, d.email_id, d.workspace_id, d.domain_id, d.recipient, d.shard, d.attempt,
      d.expires_at, d.resent, d.last_response, d.slot_day::text, due.state as was
  `.execute(trx)
  return rows
}
