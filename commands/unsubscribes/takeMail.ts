// Unsubscribes by mail: whoever writes to the address of a List-Unsubscribe header has left.
import { findUnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { leaveWorkflow } from './leave.ts'

/**
 * Commits it; may repeat. The token names the workspace.
 * @param token of the mail that is unsubscribed from, RFC 2369 section 3.2
 * @returns false when no mail has that token
 */
export async function takeUnsubscribe(
  deps: Pick<CommandDeps, 'db' | 'now' | 'newId' | 'wake'>,
  token: string,
): Promise<boolean> {
  const mail = await findUnsubscribeMail(deps.db, token)
  if (!mail) return false
  await transact(deps, (inTrx) => leaveWorkflow(inTrx, mail.workspace_id, { mail }))
  return true
}
