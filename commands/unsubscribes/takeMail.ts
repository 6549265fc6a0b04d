// Unsubscribes by mail: whoever writes to the address of a List-Unsubscribe header has left.
import type { Trx } from '../../db/connect.ts'
import { findUnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import type { ActivityDeps } from '../../delivery/deps.ts'
import { leaveWorkflow } from './leave.ts'

/**
 * Commits it; may repeat.
 * @param token of the mail that is unsubscribed from, RFC 2369 section 3.2
 * @returns false when no mail has that token
 */
export async function takeUnsubscribe(
  { db, now, newId, wake }: Pick<ActivityDeps, 'db' | 'now' | 'newId' | 'wake'>,
  token: string,
): Promise<boolean> {
  const mail = await findUnsubscribeMail(db, token)
  if (!mail) return false
  const at = { newId, now: now() }
  const leave = (trx: Trx) => leaveWorkflow(trx, at, mail)
  if (await db.transaction().execute(leave)) wake('dripline_outbox')
  return true
}
