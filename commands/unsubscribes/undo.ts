// Takes an unsubscription back: new executions may start again, those that were cancelled stay so.

import { lockContact } from '../../db/contacts/writes.ts'
import type { UnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import { deleteUnsubscribe } from '../../db/unsubscribes/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** For the contact and the workflow of that mail. May repeat. */
export function undoUnsubscribe(
  deps: Pick<CommandDeps, 'db' | 'wake'>,
  workspaceId: WorkspaceId,
  mail: Pick<UnsubscribeMail, 'workflow_id' | 'contact_id'>,
): Promise<void> {
  const who = { workflowId: mail.workflow_id, contactId: mail.contact_id }
  return transact(deps, async ({ db: trx }) => {
    await lockContact(trx, workspaceId, who.contactId)
    await deleteUnsubscribe(trx, workspaceId, who)
  })
}
