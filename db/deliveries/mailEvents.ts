// Writes mail events to the outbox: what happened to an email, for the contact that it went to.

import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { outboxRows } from '../outbox.ts'
import type { Param } from '../prepared.ts'
import type { JsonObject } from '../schema.ts'

/** Something that happened to an email and is to be recorded for its contact. */
export interface MailEventFacts {
  name: 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained'
  at: Date
  data: JsonObject
}

/**
 * The insert of mail events as a step of a `with`: one for each row whose recipient is an automation contact. It
 * locks no contact. The caller wakes `dripline_mail_events` after the commit.
 * @param rows a `select` of `delivery_id, workspace_id, recipient, name, at, data` (jsonb), by these names
 */
export function mailEventRows(rows: RawBuilder<unknown>, now: Param<Date>): RawBuilder<unknown> {
  return outboxRows(
    sql`select 'mail_event' as kind, '' as execution_id, r.workspace_id, '' as workflow_id,
        c.id as contact_id, jsonb_build_object('delivery_id', r.delivery_id, 'name', r.name,
          'at', r.at, 'data', r.data) as payload
      from (${rows}) as r
      join contacts c on c.workspace_id = r.workspace_id and c.email = lower(r.recipient)`,
    now,
  )
}

/** Writes the mail event of one delivery. @returns false if no contact hears of it: nothing was written */
export async function insertMailEvent(
  trx: Trx,
  workspaceId: WorkspaceId,
  deliveryId: number,
  event: MailEventFacts,
  now: Date,
): Promise<boolean> {
  const rows = sql`select id as delivery_id, workspace_id, recipient, ${event.name}::text as name,
      ${event.at}::timestamptz as at, ${JSON.stringify(event.data)}::jsonb as data
    from deliveries where workspace_id = ${workspaceId} and id = ${deliveryId} and not to_team`
  const { rows: told } = await sql`
    with told as (${mailEventRows(rows, now)} returning id) select id from told
  `.execute(trx)
  return told.length > 0
}
