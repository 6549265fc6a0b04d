// Extends and releases the leases of claimed deliveries, and finds expired ones.

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

/** Deliveries whose lease has expired because their worker died. */
export async function listExpiredLeases(
  db: Db,
  shards: ShardRange,
  limit: number,
): Promise<ExpiredLease[]> {
  const { rows } = await sql<ExpiredLease>`
    select id, email_id, attempt, expires_at, resent, last_response, state
    from deliveries
    where ${isLeaseOver} and shard >= ${shards.from} and shard < ${shards.to}
      and ${isUnderWay}
    order by lease_until
    limit ${limit}
  `.execute(db)
  return rows
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
