// What lanes read and write for test addresses beside the settlement: opens and clicks that nobody has made.

import { sql } from 'kysely'
import type { Db, Trx } from '../connect.ts'
import type { JsonObject } from '../schema.ts'
import { mailEventRows } from './mailEvents.ts'

export interface TestVisit {
  /** That of the delivery. */
  id: number
  status: 'opened' | 'clicked'
  at: Date
  data: JsonObject
}

/**
 * Writes opens and clicks as those of people, and tells contacts of them. The caller has settled the deliveries in this
 * transaction, so that none is written twice.
 * @returns true if mail events were written: the caller wakes `dripline_mail_events`
 */
export async function insertTestVisits(
  trx: Trx,
  visits: readonly TestVisit[],
  now: Date,
): Promise<boolean> {
  if (visits.length === 0) return false
  const { rows } = await sql<{ id: number }>`
    with given as (
      select g.*, d.email_id, d.workspace_id, d.recipient, d.to_team
      from jsonb_to_recordset(${JSON.stringify(visits)}::jsonb)
        as g(id bigint, status text, at timestamptz, data jsonb)
      join deliveries d on d.id = g.id
    ),
    events as (
      insert into email_events (email_id, workspace_id, recipient, status, at, data)
      select email_id, workspace_id, recipient, status, at, data from given
    ),
    told as (
      ${mailEventRows(
        sql`select id as delivery_id, workspace_id, recipient, status as name, at, data
        from given where not to_team`,
        now,
      )}
      returning id
    )
    select id from told
  `.execute(trx)
  return rows.length > 0
}

/** Whether an attempt of a delivery was refused before, for now. */
export async function wasRefused(db: Db, deliveryId: number): Promise<boolean> {
  const found = await db
    .selectFrom('delivery_attempts')
    .select('attempt')
    .where('delivery_id', '=', deliveryId)
    .where('outcome', '=', 'rejected')
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}
