// Writes who has left a workflow by the link in its mail.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { lockContact } from '../contacts/writes.ts'

type Membership = { workflow_id: string; contact_id: string; workspace_id: WorkspaceId }

/**
 * Call it with the contact's lock held. One that is sure confirms what was not.
 * @param mail its `id` is kept when it is unconfirmed
 * @returns false when he had left already
 */
export async function insertUnsubscribe(
  trx: Trx,
  { id, workflow_id, contact_id, workspace_id }: Membership & { id: string },
  now: Date,
  unconfirmed: boolean,
): Promise<boolean> {
  const unconfirmed_email_id = unconfirmed ? id : null
  const result = await trx
    .insertInto('workflow_unsubscribes')
    .values({ workflow_id, contact_id, workspace_id, unconfirmed_email_id, created_at: now })
    .onConflict((oc) => oc.columns(['workflow_id', 'contact_id']).doNothing())
    .executeTakeFirst()
  if ((result.numInsertedOrUpdatedRows ?? 0n) > 0n) return true
  if (unconfirmed) return false
  await trx
    .updateTable('workflow_unsubscribes')
    .set({ unconfirmed_email_id: null })
    .where('workflow_id', '=', workflow_id)
    .where('contact_id', '=', contact_id)
    .where('unconfirmed_email_id', 'is not', null)
    .execute()
  return false
}

/** Takes back what a GET of that mail's link did after a moment, when nothing has confirmed it. */
export async function deleteUnconfirmed(trx: Trx, emailId: string, after: Date): Promise<void> {
  const row = await trx
    .selectFrom('workflow_unsubscribes')
    .select('contact_id')
    .where('unconfirmed_email_id', '=', emailId)
    .where('created_at', '>', after)
    .executeTakeFirst()
  if (!row) return
  await lockContact(trx, row.contact_id)
  await trx
    .deleteFrom('workflow_unsubscribes')
    .where('unconfirmed_email_id', '=', emailId)
    .execute()
}

export async function deleteUnsubscribe(
  trx: Trx,
  { workflow_id, contact_id }: Membership,
): Promise<void> {
  await trx
    .deleteFrom('workflow_unsubscribes')
    .where('workflow_id', '=', workflow_id)
    .where('contact_id', '=', contact_id)
    .execute()
}
