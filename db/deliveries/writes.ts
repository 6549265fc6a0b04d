// Writes the bounce of a delivery that a report brought.

import { sql } from 'kysely'
import type { Trx } from '../connect.ts'
import type { JsonObject } from '../schema.ts'
import { mayBounceLater } from './guards.ts'
import { type ReportedDelivery, reportedColumns } from './reads.ts'

/**
 * Like `findReportedDelivery`, with the row locked. Wait for no other lock while you hold it, because settling
 * needs it.
 */
export function lockReportedDelivery(trx: Trx, id: number): Promise<ReportedDelivery | undefined> {
  return trx
    .selectFrom('deliveries')
    .select(reportedColumns)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
}

/**
 * Makes a locked delivery `bounced` and writes its recipient's email event.
 * @returns false if it had bounced before: nothing was changed
 */
export async function bounceDelivery(
  trx: Trx,
  delivery: ReportedDelivery,
  data: JsonObject,
  now: Date,
): Promise<boolean> {
  const { rows } = await sql<{ id: number }>`
    with event as (
      insert into email_events (email_id, workspace_id, recipient, status, at, data)
      values (${delivery.email_id}, ${delivery.workspace_id}, ${delivery.recipient}, 'bounced',
        ${now}, ${JSON.stringify(data)}::jsonb)
      on conflict do nothing
      returning id
    )
    update deliveries set state = 'bounced', settled_at = coalesce(settled_at, ${now})
    where id = ${delivery.id} and exists (select from event) and ${mayBounceLater}
    returning id
  `.execute(trx)
  return rows.length > 0
}
