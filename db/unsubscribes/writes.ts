// Writes unsubscriptions of contacts from workflows.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'

export interface Membership {
  workflowId: string
  contactId: string
}

/**
 * Writes an unsubscription. Call it with the contact's lock held.
 * @param unconfirmedEmailId the email whose link was followed by a GET, which a scanner may have made; null: the
 * unsubscription is certain
 * @returns false if the contact had unsubscribed before
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
 * Confirms an unsubscription that a GET made, so that later clicks of a scanner do not undo it. Call it with the
 * contact's lock held.
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
 * Deletes the unsubscription that a GET of that email's link made, unless it was confirmed. Call it with the
 * contact's lock held.
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

/** Deletes an unsubscription, confirmed or not. Call it with the contact's lock held. */
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
