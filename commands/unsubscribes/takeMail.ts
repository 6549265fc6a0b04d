// Unsubscribes a contact who wrote to the address of a List-Unsubscribe header.
import { findUnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { leaveWorkflow } from './leave.ts'

/**
 * Commits the unsubscription. May be repeated. No workspace is needed: the token names the email, and its row the
 * workspace.
 * @param token of the email, from its List-Unsubscribe header (RFC 2369 section 3.2)
 * @returns false if no email has that token
 */
export async function takeUnsubscribe(
  deps: Pick<CommandDeps, 'db' | 'now' | 'newId' | 'wake' | 'addressMac'>,
  token: string,
): Promise<boolean> {
  const mail = await findUnsubscribeMail(deps.db, token)
  if (!mail) return false
  await transact(deps, (inTrx) => leaveWorkflow(inTrx, mail.workspace_id, { mail, source: 'mail' }))
  return true
}
