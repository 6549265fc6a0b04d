// What an undone unsubscription lets go on, in the caller's transaction.
import { resumeWaiting } from '../../db/deliveries/stop.ts'
import { takeLeave } from '../../db/opt-outs/leaves.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { scanWindowEnd } from '../../rules/mail/machines.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'

/**
 * Takes away the row that would cancel executions, and makes mail due that claims have put off. The caller holds the
 * contact's lock and has deleted the opt-out, which was made at `leftAt`.
 */
export async function resumeMail(
  { db: trx, now }: InTrx<Pick<CommandDeps, 'db' | 'wake' | 'now'>>,
  workspaceId: WorkspaceId,
  left: { workflowId: string; contactId: string; email: string; leftAt: Date },
): Promise<void> {
  const { workflowId, contactId, email, leftAt } = left
  await takeLeave(trx, workspaceId, { workflowId, contactId })
  // When a claim comes back to what it has put off (`standsFrom`).
  const until = scanWindowEnd(leftAt)
  await resumeWaiting(trx, workspaceId, { emails: [email], workflowId }, until, now())
}
