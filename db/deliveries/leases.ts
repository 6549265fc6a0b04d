// Extends and releases the leases of claimed deliveries, and finds expired ones.

import { sql } from 'kysely'
import type { UnderWayState } from '../../rules/states.ts'
import type { Db, Trx } from '../connect.ts'
import type { ClaimedDelivery, ShardRange } from './claim.ts'
import { isUnderWay, isUnmarked } from './guards.ts'

/** Extends the leases of deliveries under way. */
export async function extendLeases(
  trx: Trx,
  ids: number[],
  leaseToken: string,
  until: Date,
): Promise<void> {
  await sql`
    update deliveries set lease_until = ${until}
    where id = any(${ids}::bigint[]) and lease_token = ${leaseToken}
      and ${isUnderWay}
  `.execute(trx)
}

/** Returns claimed deliveries without the mark `data_sent` to their former state. The attempt does not count. */
export async function releaseDeliveries(
  trx: Trx,
  deliveries: readonly Pick<ClaimedDelivery, 'id' | 'was'>[],
  leaseToken: string,
): Promise<void> {
  await sql`
    update deliveries d
    set state = g.was, attempt = attempt - 1, lease_token = null, lease_until = null
    from unnest(${deliveries.map(({ id }) => id)}::bigint[], ${deliveries.map(({ was }) => was)}::text[])
      as g (id, was)
    where d.id = g.id and lease_token = ${leaseToken} and ${isUnmarked}
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
  now: Date,
  limit: number,
): Promise<ExpiredLease[]> {
  const { rows } = await sql<ExpiredLease>`
    select id, email_id, attempt, expires_at, resent, last_response, state
    from deliveries
    where lease_until <= ${now} and shard >= ${shards.from} and shard < ${shards.to}
      and ${isUnderWay}
    order by lease_until
    limit ${limit}
  `.execute(db)
  return rows
}
