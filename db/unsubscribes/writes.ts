// Writes who has left a workflow by the link in its mail.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'

export interface Membership {
  workflowId: string
  contactId: string
}

/**
 * Call it with the contact's lock held.
 * @param unconfirmedEmailId the mail whose link did it by a GET, which a scanner may have made; null: it is sure
 * @returns false when they had left already
 */
export async function insertUnsubscribe(
  trx: Trx,
  workspaceId: WorkspaceId,
  { workflowId, contactId }: Membership,
  unconfirmedEmailId: string | null,
  now: Date,
): Promise<boolean> {
  const result = await trx
    .insertInto('workflow_unsubscribes')
    .values({
      workflow_id: workflowId,
      contact_id: contactId,
      workspace_id: workspaceId,
      unconfirmed_email_id: unconfirmedEmailId,
      created_at: now,
    })
    .onConflict((oc) => oc.columns(['workflow_id', 'contact_id']).doNothing())
    .executeTakeFirst()
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n
}

/**
 * Makes an unsubscription by a GET, which a scanner may have made, one that stays whatever is fetched later. Call it with
 * the contact's lock held.
 */
export async function confirmUnsubscribe(
  trx: Trx,
  workspaceId: WorkspaceId,
  { workflowId, contactId }: Membership,
): Promise<void> {
  await trx
    .updateTable('workflow_unsubscribes')
    .set({ unconfirmed_email_id: null })
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', workflowId)
    .where('contact_id', '=', contactId)
    .where('unconfirmed_email_id', 'is not', null)
    .execute()
}

/**
 * Deletes the unsubscription by a GET of that mail's link, unless it was confirmed. Call it with the contact's lock held.
 */
export async function deleteUnconfirmed(
  trx: Trx,
  workspaceId: WorkspaceId,
  emailId: string,
): Promise<void> {
  await trx
    .deleteFrom('workflow_unsubscribes')
    .where('workspace_id', '=', workspaceId)
    .where('unconfirmed_email_id', '=', emailId)
    .execute()
}

/** Deletes an unsubscription, whoever made it. Call it with the contact's lock held. */
export async function deleteUnsubscribe(
  trx: Trx,
  workspaceId: WorkspaceId,
  { workflowId, contactId }: Membership,
): Promise<void> {
  await trx
    .deleteFrom('workflow_unsubscribes')
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', workflowId)
    .where('contact_id', '=', contactId)
    .execute()
}
