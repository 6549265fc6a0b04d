// Tells webhooks and the contact that somebody has complained about a delivery, once for each delivery.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { Trx } from '../connect.ts'
import { insertMailEvent } from '../deliveries/mailEvents.ts'

const COUNTED_FOR = `${limits.complaintCountedDays} days`

/**
 * Tells of it and counts it, unless the mail was settled so long ago that nobody may know any more whether it was told before. Of a copy
 * for the team the contact is not told.
 * @returns whether a mail event was written: the caller wakes `dripline_mail_events`; false too if it was told before, which this
 *   transaction waits for when another one is about to, or if it comes too late
 */
export async function tellOfComplaint(
  trx: Trx,
  workspaceId: WorkspaceId,
  {
    deliveryId,
    emailId,
    email,
    at,
  }: { deliveryId: number; emailId: string; email: string; at: Date },
): Promise<boolean> {
  const { rows } = await sql<{ delivery_id: number }>`
    insert into complaints (delivery_id, workspace_id, at)
    select ${deliveryId}::bigint, ${workspaceId}::text, ${at}::timestamptz
    where not exists (select from deliveries d
      where d.id = ${deliveryId} and d.settled_at < ${at}::timestamptz - ${COUNTED_FOR}::interval)
    on conflict do nothing returning delivery_id
  `.execute(trx)
  if (rows.length === 0) return false
  await sql`
    select tell_of_email('email.complained', ${emailId}, ${email}, ${at}::timestamptz)
    where webhook_asked(${workspaceId})
  `.execute(trx)
  return insertMailEvent(trx, workspaceId, deliveryId, { name: 'complained', at, data: {} }, at)
}
