// Undoes an unsubscription: new executions may start again, cancelled ones stay cancelled.

import { lockContact } from '../../db/contacts/writes.ts'
import type { UnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import { deleteUnsubscribe } from '../../db/unsubscribes/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** Undoes the unsubscription of the email's contact from its workflow. May be repeated. */
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
