// The delivery ledger: claims and leases. Every move is guarded by the lease token.
import { sql } from 'kysely'
import type { Db } from './connect.ts'
import type { DeliveryState, Row } from './schema.ts'

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
  /** The state that it was claimed from, and goes back to when this is no attempt after all. */
  was: Extract<DeliveryState, 'queued' | 'deferred'>
  /** Whether its recipient was an automation contact then, who is to hear of it. */
  has_contact: boolean
}

export interface Claim {
  /** In the order in which they are asked. */
  shards: readonly number[]
  limit: number
  /** No shard gives more, so that a long queue for one destination does not stand before all the others. */
  perShard: number
  leaseToken: string
  leaseUntil: Date
  now: Date
}

/** Claims due deliveries and leases them: of each shard those that have waited longest, until there are `limit`. */
export async function claimDeliveries(db: Db, claim: Claim): Promise<ClaimedDelivery[]> {
  // Planned anew each time (no `with`, so no name): a plan made for an empty queue is none for a million rows.
  const { rows } = await sql<ClaimedDelivery>`
    update deliveries d
    set state = 'sending', attempt = attempt + 1,
        lease_token = ${claim.leaseToken}, lease_until = ${claim.leaseUntil}
    from (
      select due.id, due.state from unnest(${[...claim.shards]}::smallint[]) as s (shard)
      cross join lateral (
        select id, state from deliveries
        where shard = s.shard and lease_until is null and settled_at is null
          and next_at <= ${claim.now}
        order by next_at limit ${claim.perShard}
        for update skip locked
      ) due
      limit ${claim.limit}
    ) due
    where d.id = due.id
    returning d.id, d.email_id, d.workspace_id, d.domain_id, d.recipient, d.shard, d.attempt,
      d.expires_at, d.resent, d.last_response, d.slot_day::text, due.state as was,
      exists (select from contacts c where c.workspace_id = d.workspace_id
        and c.email = lower(d.recipient)) as has_contact
  `.execute(db)
  return rows
}

/** Keeps leases alive while their mail is under way. */
export async function extendLeases(
  db: Db,
  ids: number[],
  leaseToken: string,
  until: Date,
): Promise<void> {
  await sql`
    update deliveries set lease_until = ${until}
    where id = any(${ids}::bigint[]) and lease_token = ${leaseToken}
      and state in ('sending', 'data_sent')
  `.execute(db)
}

/**
 * Marks mails whose bytes are written but for the final dot, in one commit.
 * @returns the ids that still held their lease: only these may be given their dot
 */
export async function markDataSent(
  db: Db,
  ids: number[],
  leaseToken: string,
): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    with marked as (
      update deliveries set state = 'data_sent'
      where id = any(${ids}::bigint[]) and lease_token = ${leaseToken}::uuid and state = 'sending'
      returning id
    )
    select id from marked
  `.execute(db)
  return new Set(rows.map((row) => row.id))
}

/** Gives back what was claimed and not yet begun; the attempt does not count. */
export async function releaseDeliveries(
  db: Db,
  deliveries: readonly Pick<ClaimedDelivery, 'id' | 'was'>[],
  leaseToken: string,
): Promise<void> {
  await sql`
    update deliveries d
    set state = g.was, attempt = attempt - 1, lease_token = null, lease_until = null
    from unnest(${deliveries.map(({ id }) => id)}::bigint[], ${deliveries.map(({ was }) => was)}::text[])
      as g (id, was)
    where d.id = g.id and lease_token = ${leaseToken} and state = 'sending'
  `.execute(db)
}

export type ExpiredLease = Pick<
  ClaimedDelivery,
  'id' | 'email_id' | 'attempt' | 'expires_at' | 'resent' | 'last_response'
> & { state: 'sending' | 'data_sent' }

/** Deliveries whose owner died: what is to become of each depends on whether its dot may have been sent. */
export async function listExpiredLeases(
  db: Db,
  shards: ShardRange,
  now: Date,
  limit: number,
): Promise<ExpiredLease[]> {
  const { rows } = await sql<ExpiredLease>`
    select id, email_id, attempt, expires_at, resent, last_response, state
    from deliveries
    where lease_until <= ${now} and shard >= ${shards.from} and shard < ${shards.to}
    order by lease_until
    limit ${limit}
  `.execute(db)
  return rows
}
