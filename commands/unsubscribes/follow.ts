// Unsubscribes a contact who followed the unsubscribe link of an email, from the workflow that sent it.

import { listLinkFetches } from '../../db/tracking/reads.ts'
import { lockMailTracking } from '../../db/tracking/writes.ts'
import type { UnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { SCAN_WINDOW_MS, showsScanner } from '../../rules/mail/machines.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { leaveWorkflow } from './leave.ts'

/**
 * Unsubscribes the contact; see `leaveWorkflow`. May be repeated. A GET may come from a scanner that follows every
 * link of the email: nothing happens if the clicks of the minute before show a scanner, and the unsubscription is
 * undone if those of the minute after do. So what it means for executions and waiting mail is carried out after that
 * minute.
 * @returns false if nothing was done
 */
export function followUnsubscribe(
  deps: Pick<CommandDeps, 'db' | 'now' | 'newId' | 'wake' | 'addressMac'>,
  workspaceId: WorkspaceId,
  { mail, by }: { mail: UnsubscribeMail; by: 'get' | 'post' },
): Promise<boolean> {
  return transact(deps, async (inTrx) => {
    await lockMailTracking(inTrx.db, mail.id)
    // The clock is read under the lock, so that times and commits have the same order.
    const at = inTrx.now()
    if (by === 'get') {
      const since = new Date(at.getTime() - SCAN_WINDOW_MS)
      const ofContact = { email_id: mail.id, recipient: mail.email }
      const fetches = await listLinkFetches(inTrx.db, workspaceId, ofContact, since)
      if (showsScanner(fetches)) return false
    }
    const leaving =
      by === 'get'
        ? ({ mail, source: 'link', unconfirmed: true } as const)
        : ({ mail, source: 'one_click' } as const)
    await leaveWorkflow({ ...inTrx, now: () => at }, workspaceId, leaving)
    return true
  })
}
