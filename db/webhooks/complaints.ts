// Tells webhooks that somebody has complained about a delivery, once for each delivery.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'

/** @returns false if it was told before, which this transaction waits for when another one is about to */
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
    insert into complaints (delivery_id, workspace_id, at) values (${deliveryId}, ${workspaceId}, ${at})
    on conflict do nothing returning delivery_id
  `.execute(trx)
  if (rows.length === 0) return false
  await sql`
    select tell_of_email('email.complained', ${emailId}, ${email}, ${at}::timestamptz)
    where webhook_asked(${workspaceId})
  `.execute(trx)
  return true
}
