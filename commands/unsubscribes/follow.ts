// Unsubscribes a contact who followed the link of a mail from the workflow that sent it.

import { listLinkFetches } from '../../db/tracking/reads.ts'
import { lockMailTracking } from '../../db/tracking/writes.ts'
import type { UnsubscribeMail } from '../../db/unsubscribes/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { SCAN_WINDOW_MS, showsScanner } from '../../rules/mail/machines.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { leaveWorkflow } from './leave.ts'

/**
 * Leaves; running executions end with the reason. May repeat. By GET it may be a scanner that follows every link of the
 * mail: it does nothing when the minute before shows one, and is undone when the minute after does.
 * @returns false when nothing was done
 */
export function followUnsubscribe(
  deps: Pick<CommandDeps, 'db' | 'now' | 'newId' | 'wake'>,
  workspaceId: WorkspaceId,
  { mail, by }: { mail: UnsubscribeMail; by: 'get' | 'post' },
): Promise<boolean> {
  return transact(deps, async (inTrx) => {
    await lockMailTracking(inTrx.db, mail.id)
    // Read under the lock, so that times and commits have one order.
    const at = inTrx.now()
    if (by === 'get') {
      const since = new Date(at.getTime() - SCAN_WINDOW_MS)
      const fetches = await listLinkFetches(inTrx.db, workspaceId, mail.id, since)
      if (showsScanner(fetches)) return false
    }
    const leaving = { mail, unconfirmed: by === 'get' }
    await leaveWorkflow({ ...inTrx, now: () => at }, workspaceId, leaving)
    return true
  })
}
