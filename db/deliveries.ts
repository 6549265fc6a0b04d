// Queries over the delivery ledger: claim, lease, mark, settle. Every move is guarded by the lease token.
import { sql } from 'kysely'
import type { Db } from './connect.ts'
import type { DeliveryState, JsonObject, Row } from './schema.ts'

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
  | 'recipient'
  | 'attempt'
  | 'expires_at'
  | 'resent'
  | 'last_response'
>

/** Claims up to `limit` due deliveries, the longest due first, and leases them. */
export async function claimDeliveries(
  db: Db,
  claim: { shards: ShardRange; limit: number; leaseToken: string; leaseUntil: Date; now: Date },
): Promise<ClaimedDelivery[]> {
  const { rows } = await sql<ClaimedDelivery>`
    update deliveries d
    set state = 'sending', attempt = attempt + 1,
        lease_token = ${claim.leaseToken}, lease_until = ${claim.leaseUntil}
    from (
      select id from deliveries
      where state in ('queued', 'deferred') and next_at <= ${claim.now}
        and shard >= ${claim.shards.from} and shard < ${claim.shards.to}
      order by next_at
      limit ${claim.limit}
      for update skip locked
    ) due
    where d.id = due.id
    returning d.id, d.email_id, d.workspace_id, d.recipient, d.attempt, d.expires_at, d.resent,
      d.last_response
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
    update deliveries set state = 'data_sent'
    where id = any(${ids}::bigint[]) and lease_token = ${leaseToken} and state = 'sending'
    returning id
  `.execute(db)
  return new Set(rows.map((row) => row.id))
}

/** Gives back what was claimed and not yet begun; the attempt does not count. */
export async function releaseDeliveries(db: Db, ids: number[], leaseToken: string): Promise<void> {
  await sql`
    update deliveries
    set state = 'queued', attempt = attempt - 1, lease_token = null, lease_until = null
    where id = any(${ids}::bigint[]) and lease_token = ${leaseToken} and state = 'sending'
  `.execute(db)
}

/** What became of one attempt. */
export interface Settlement {
  id: number
  state: DeliveryState
  /** When it is due again; null leaves the time as it is. */
  nextAt: Date | null
  response: string | null
  resent: number
  /** The recipient's event, or null for what is internal (a deferral). */
  event: { status: 'delivered' | 'bounced'; at: Date; data: JsonObject } | null
  /** Puts the recipient on the suppression list. */
  suppress: boolean
}

export interface SettledDelivery {
  id: number
  email_id: string
  workspace_id: string
  recipient: string
}

/**
 * Settles deliveries that still hold the lease (or, with no token, whose lease has expired), writes their events
 * and suppressions: one statement, so one commit.
 * @returns the deliveries that were settled now
 */
export async function settleDeliveries(
  db: Db,
  settlements: Settlement[],
  leaseToken: string | null,
  now: Date,
): Promise<SettledDelivery[]> {
  const input = settlements.map((s) => ({
    id: s.id,
    state: s.state,
    next_at: s.nextAt,
    response: s.response,
    resent: s.resent,
    status: s.event?.status ?? null,
    at: s.event?.at ?? null,
    data: s.event?.data ?? null,
    suppress: s.suppress,
  }))
  const held =
    leaseToken === null
      ? sql`d.lease_until <= ${now} and d.state in ('sending', 'data_sent')`
      : sql`d.lease_token = ${leaseToken}`
  const { rows } = await sql<SettledDelivery>`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(input)}::jsonb) as g(
        id bigint, state text, next_at timestamptz, response text, resent smallint,
        status text, at timestamptz, data jsonb, suppress boolean)
    ),
    settled as (
      update deliveries d
      set state = g.state, next_at = coalesce(g.next_at, d.next_at), last_response = g.response,
          resent = g.resent, lease_token = null, lease_until = null,
          settled_at = case when g.state in ('queued', 'deferred') then null
            else ${now}::timestamptz end
      from given g
      where d.id = g.id and ${held}
      returning d.id, d.email_id, d.workspace_id, d.recipient
    ),
    events as (
      insert into email_events (email_id, workspace_id, recipient, status, at, data)
      select s.email_id, s.workspace_id, s.recipient, g.status, g.at, g.data
      from settled s join given g using (id) where g.status is not null
      on conflict do nothing
    ),
    suppressed as (
      insert into suppressions (workspace_id, email, reason, source_id, created_at)
      select distinct on (s.workspace_id, lower(s.recipient))
        s.workspace_id, lower(s.recipient), 'bounce', s.email_id, ${now}::timestamptz
      from settled s join given g using (id) where g.suppress
      on conflict (workspace_id, email) do update set expires_at = null
      where suppressions.expires_at is not null
    )
    select id, email_id, workspace_id, recipient from settled
  `.execute(db)
  return rows
}

export interface ExpiredLease extends ClaimedDelivery {
  state: 'sending' | 'data_sent'
}

/** Deliveries whose owner died: what is to become of each depends on whether its dot may have been sent. */
export async function listExpiredLeases(
  db: Db,
  shards: ShardRange,
  now: Date,
  limit: number,
): Promise<ExpiredLease[]> {
  const { rows } = await sql<ExpiredLease>`
    select id, email_id, workspace_id, recipient, attempt, expires_at, resent, last_response, state
    from deliveries
    where state in ('sending', 'data_sent') and lease_until <= ${now}
      and shard >= ${shards.from} and shard < ${shards.to}
    order by lease_until
    limit ${limit}
  `.execute(db)
  return rows
}
