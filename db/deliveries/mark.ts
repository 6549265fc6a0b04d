// Marks mails before their final dot.

import { sql } from 'kysely'
import type { Db } from '../connect.ts'

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
