// Undoes an unsubscription that a scanner made by following the links of an email, in the caller's transaction.

import { lockContact } from '../../db/contacts/writes.ts'
import { findUnconfirmed } from '../../db/opt-outs/reads.ts'
import { confirmIfBefore } from '../../db/opt-outs/takeOver.ts'
import { deleteUnconfirmed } from '../../db/opt-outs/writes.ts'
import { uncountUnsubscribe } from '../../db/stats/unsubscribes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'
import { forgetFurtherGet, passOn } from './furtherGets.ts'
import { resumeMail } from './resume.ts'

/**
 * Undoes it only if a GET after `after` made it, nothing has confirmed it since, and no GET of another email's link
 * stands.
 */
export async function undoScannedUnsubscribe(
  deps: InTrx<Pick<CommandDeps, 'db' | 'wake' | 'now'>>,
  workspaceId: WorkspaceId,
  { emailId, after }: { emailId: string; after: Date },
): Promise<void> {
  const { db: trx } = deps
  const unlocked = await findUnconfirmed(trx, workspaceId, emailId, after)
  if (!unlocked) return forgetFurtherGet(trx, workspaceId, emailId)
  const { contact_id: contactId, workflow_id: workflowId } = unlocked
  const contact = await lockContact(trx, workspaceId, contactId)
  // Somebody may have confirmed it, or undone it, before the lock.
  const found = await findUnconfirmed(trx, workspaceId, emailId, after)
  if (!found) return
  const optOut = { optOutId: found.id, contactId }
  if (await confirmIfBefore(trx, workspaceId, optOut)) return
  await uncountUnsubscribe(trx, workspaceId, { emailId, at: found.created_at })
  if (await passOn(trx, workspaceId, found)) return
  if (!(await deleteUnconfirmed(trx, workspaceId, found.id)) || !contact) return
  const leaver = { workflowId, contactId, email: contact.email, leftAt: found.created_at }
  await resumeMail(deps, workspaceId, leaver)
}
