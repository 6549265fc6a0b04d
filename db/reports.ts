// What a report that came by mail changes: the delivery that bounced, the contacts of one who complained.
import { sql, type Transaction } from 'kysely'
import { lockAudienceContacts, updateAudienceContacts } from './audienceContacts.ts'
import { lockAudience, updateAudienceCounts } from './audiences.ts'
import type { Database, JsonObject } from './schema.ts'

/** Locks the delivery that a report is about, of any workspace: its return path is all that its sender has. */
export function lockReportedDelivery(trx: Transaction<Database>, id: number) {
  return trx
    .selectFrom('deliveries')
    .select(['id', 'email_id', 'workspace_id', 'recipient', 'state'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
}

export type ReportedDelivery = NonNullable<Awaited<ReturnType<typeof lockReportedDelivery>>>

/**
 * Makes a locked delivery `bounced` and writes its recipient's email event.
 * @returns false when he had bounced before: nothing was changed
 */
export async function bounceDelivery(
  trx: Transaction<Database>,
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
    where id = ${delivery.id} and exists (select from event)
    returning id
  `.execute(trx)
  return rows.length > 0
}

/** The unsubscribe token of an email; null when it has none, or the email is gone. */
export async function findUnsubscribeToken(
  trx: Transaction<Database>,
  workspaceId: string,
  emailId: string,
): Promise<string | null> {
  const row = await trx
    .selectFrom('emails')
    .select('unsubscribe_token')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', emailId)
    .executeTakeFirst()
  return row?.unsubscribe_token ?? null
}

/** Unsubscribes an address (lower case) from every audience of the workspace, one audience's lock after the other. */
export async function unsubscribeFromAudiences(
  trx: Transaction<Database>,
  workspaceId: string,
  email: string,
  now: Date,
): Promise<void> {
  const subscribed = await trx
    .selectFrom('audience_contacts')
    .select('audience_id')
    .where('workspace_id', '=', workspaceId)
    .where('email', '=', email)
    .where('is_subscribed', '=', true)
    .orderBy('audience_id')
    .execute()
  for (const { audience_id } of subscribed) {
    if (!(await lockAudience(trx, workspaceId, audience_id))) continue
    const [row] = await lockAudienceContacts(trx, audience_id, [email])
    if (!row?.is_subscribed) continue
    await updateAudienceContacts(trx, [{ ...row, is_subscribed: false, updated_at: now }])
    await updateAudienceCounts(trx, audience_id, { contacts: 0, unsubscribers: 1 })
  }
}
