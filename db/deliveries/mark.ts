// Writes the mark `data_sent`, which is committed before a message gets its final dot.

import { sql } from 'kysely'
import type { Trx } from '../connect.ts'
import { isUnmarked, type LaneEpoch, lockedById, marksInLane } from './guards.ts'
import { look, lookedAt } from './look.ts'

/**
 * Marks deliveries whose message is written except for the final dot, in one commit. Whether a lease is valid
 * is asked of the database's clock, as everywhere. It looks as a claim
 * does (`look.ts`), since a mail may wait for minutes between claim and dot: nothing is marked that the next claim would
 * settle or put off.
 * @param owner who marks: nothing is marked once its lane was taken from it. Absent: without that look
 * @returns the ids of deliveries whose lease is still valid and which nothing stops: only these may get their final dot
 */
export async function markDataSent(
  trx: Trx,
  ids: number[],
  leaseToken: string,
  now: Date,
  owner?: LaneEpoch,
): Promise<Set<number>> {
  const which = sql`lease_token = ${leaseToken}::uuid and lease_until > clock_timestamp()
    and ${isUnmarked}`
  const { rows } = await sql<{ id: number }>`
    with held as materialized (${lockedById(sql`= any(${ids}::bigint[])`, which, lookedAt)}),
    free as materialized (
      select l.id from (${look(sql`held`, now)}) l
      where l.verdict is null and ${owner ? marksInLane(owner) : sql`true`}
    ),
    marked as (
      update deliveries d set state = 'data_sent' from free where d.id = free.id returning d.id
    )
    select id from marked
  `.execute(trx)
  return new Set(rows.map((row) => row.id))
}
