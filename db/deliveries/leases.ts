// Extends and releases the leases of claimed deliveries, and finds expired ones by what claims have noted.

import { sql } from 'kysely'
import type { UnderWayState } from '../../rules/states.ts'
import type { Db, Trx } from '../connect.ts'
import type { ClaimedDelivery } from './claim.ts'
import { isLeaseOver, isUnderWay, isUnmarked, leaseEnd, lockedById } from './guards.ts'
import type { ShardRange } from './lines.ts'

/** Extends the leases of deliveries under way: they last so long from now on. @returns the ids of those that still have this lease */
export async function extendLeases(
  trx: Trx,
  ids: number[],
  leaseToken: string,
  leaseMs: number,
): Promise<Set<number>> {
  const which = sql`lease_token = ${leaseToken}::uuid and ${isUnderWay}`
  const { rows } = await sql<{ id: number }>`
    with held as (${lockedById(sql`= any(${ids}::bigint[])`, which)}),
    extended as (
      update deliveries d set lease_until = ${leaseEnd(leaseMs)} from held where d.id = held.id returning d.id
    )
    select id from extended
  `.execute(trx)
  return new Set(rows.map(({ id }) => id))
}

/** Returns claimed deliveries without the mark `data_sent` to their former state. The attempt does not count. */
export async function releaseDeliveries(
  trx: Trx,
  deliveries: readonly Pick<ClaimedDelivery, 'id' | 'was'>[],
  leaseToken: string,
): Promise<void> {
  const ids = deliveries.map(({ id }) => id)
  const which = sql`lease_token = ${leaseToken}::uuid and ${isUnmarked}`
  await sql`
    with held as (${lockedById(sql`= any(${ids}::bigint[])`, which)})
    update deliveries d
    set state = g.was, attempt = attempt - 1, lease_token = null, lease_until = null
    from held join unnest(${ids}::bigint[], ${deliveries.map(({ was }) => was)}::text[]) as g (id, was)
      on g.id = held.id
    where d.id = held.id
  `.execute(trx)
}

export type ExpiredLease = Pick<
  ClaimedDelivery,
  'id' | 'email_id' | 'attempt' | 'expires_at' | 'resent' | 'last_response'
> & { state: UnderWayState }

/** How many notes of claims one statement looks at. */
const CLAIMS_MAX = 200

/** Of notes of claims `c` from these shards of which a lease may have ended. */
const mayBeOver = ({ from, to }: ShardRange) =>
  sql`c.until <= statement_timestamp() and c.from_shard < ${to} and c.to_shard > ${from}`

/** Deliveries whose lease has expired because their worker died. They are found by the notes of the claims that took them. */
export async function listExpiredLeases(
  db: Db,
  shards: ShardRange,
  limit: number,
): Promise<ExpiredLease[]> {
  const { rows } = await sql<ExpiredLease>`
    select id, email_id, attempt, expires_at, resent, last_response, state
    from deliveries
    where id = any(array(
        select unnest(c.ids) from (
          select c.ids from delivery_claims c where ${mayBeOver(shards)} order by c.until limit ${CLAIMS_MAX}
        ) c))
      and ${isLeaseOver} and shard >= ${shards.from} and shard < ${shards.to}
      and ${isUnderWay}
    order by lease_until
    limit ${limit}
  `.execute(db)
  return rows
}

/**
 * Deletes the notes of claims that have nothing under way any more. Of others it puts off the next look until the first of
 * their leases ends. Those of which a lease has ended it leaves to `listExpiredLeases`.
 * @returns whether more may be forgotten
 */
export async function forgetClaims(trx: Trx, shards: ShardRange): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`
    with looked as materialized (
      select c.id, c.token, c.ids from delivery_claims c where ${mayBeOver(shards)}
      order by c.until limit ${CLAIMS_MAX} for update skip locked
    ),
    held as materialized (
      select l.id, min(d.lease_until) as until
      from looked l join deliveries d on d.id = any(l.ids) and d.lease_token = l.token and d.lease_until is not null
      group by l.id
    ),
    kept as (
      update delivery_claims c set until = h.until from held h
      where c.id = h.id and h.until > statement_timestamp()
      returning c.id
    ),
    gone as (
      delete from delivery_claims c
      where c.id = any(array(select id from looked except select id from held))
      returning c.id
    )
    select (select count(*) from kept)::int + (select count(*) from gone)::int as count
  `.execute(trx)
  return rows[0]?.count === CLAIMS_MAX
}

/** Of the deliveries with these ids those that are marked and have this lease. */
export async function listMarked(
  db: Db,
  ids: number[],
  leaseToken: string,
): Promise<ExpiredLease[]> {
  const { rows } = await sql<ExpiredLease>`
    select id, email_id, attempt, expires_at, resent, last_response, state
    from deliveries
    where id = any(${ids}::bigint[]) and lease_token = ${leaseToken}::uuid and state = 'data_sent'
  `.execute(db)
  return rows
}
