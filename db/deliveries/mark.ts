// Writes the mark `data_sent`, which is committed before a message gets its final dot.

import { sql } from 'kysely'
import type { Trx } from '../connect.ts'
import { isUnmarked } from './guards.ts'

/**
 * Marks deliveries whose message is written except for the final dot, in one commit.
 * @returns the ids of deliveries whose lease is still valid: only these may get their final dot
 */
export async function markDataSent(
  trx: Trx,
  ids: number[],
  leaseToken: string,
  now: Date,
): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    with marked as (
      update deliveries set state = 'data_sent'
      where id = any(${ids}::bigint[]) and lease_token = ${leaseToken}::uuid and lease_until > ${now}
        and ${isUnmarked}
      returning id
    )
    select id from marked
  `.execute(trx)
  return new Set(rows.map((row) => row.id))
}
