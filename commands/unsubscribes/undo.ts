// Undoes an unsubscription: new executions may start again, cancelled ones stay cancelled.

import { lockContact } from '../../db/contacts/writes.ts'
import { deleteOptOut } from '../../db/opt-outs/writes.ts'
import type { UnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { resumeMail } from './resume.ts'

/**
 * Undoes the unsubscription of the email's contact from its workflow. Within the minute after a GET nothing has been
 * cancelled yet: mail that was put off meanwhile is due again. May be repeated.
 */
export function undoUnsubscribe(
  deps: Pick<CommandDeps, 'db' | 'wake' | 'now' | 'addressMac'>,
  workspaceId: WorkspaceId,
  mail: Pick<UnsubscribeMail, 'workflow_id' | 'contact_id' | 'hmac'>,
): Promise<void> {
  const { workflow_id: workflowId, contact_id: contactId } = mail
  return transact(deps, async (inTrx) => {
    const { db: trx, addressMac } = inTrx
    const contact = await lockContact(trx, workspaceId, contactId)
    const hmac = contact ? addressMac(workspaceId, contact.email) : mail.hmac
    if (!hmac) return
    const left = { scope: 'workflow', targetId: workflowId, hmac } as const
    const leftAt = await deleteOptOut(trx, workspaceId, left)
    if (!leftAt || !contact) return
    await resumeMail(inTrx, workspaceId, { workflowId, contactId, email: contact.email, leftAt })
  })
}
