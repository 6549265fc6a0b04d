// Cancels an execution in one commit. Temporal learns of it through the outbox.

import { stopMailOfExecutions } from '../../db/deliveries/stop.ts'
import { type ExecutionRow, findExecution } from '../../db/executions/reads.ts'
import { cancelExecutions, lockExecution } from '../../db/executions/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

const CODE = 'cancelled'

/**
 * Locks the execution and not its contact: a segment holds the contact's lock while it runs, and whoever cancels it
 * waits for none of that. A segment under way finds at its end that it was cancelled. Its marketing mail that waits is
 * settled in the same commit. Cancelling a cancelled execution is no error and keeps its reason.
 * @param input `reason` is shown with the execution; Temporal gets only a code
 */
export function cancelExecution(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  input: { executionId: string; reason: string | null },
): Promise<ExecutionRow | Refusal<'execution_not_found' | 'execution_not_running'>> {
  const { executionId } = input
  return transact(deps, async ({ db: trx, now, wake }) => {
    await lockExecution(trx, workspaceId, executionId)
    const why = { code: CODE, reason: input.reason || CODE } as const
    const cancelled = await cancelExecutions(trx, workspaceId, { executionId }, why, now())
    if (cancelled.length > 0) wake('dripline_outbox')
    await stopMailOfExecutions(trx, workspaceId, cancelled, now())
    const row = await findExecution(trx, workspaceId, executionId)
    if (!row) return refuse('execution_not_found', {})
    const status = row.ended_status
    if (status === 'CANCELLED') return row
    return refuse('execution_not_running', { status: status ?? 'IN_PROGRESS' })
  })
}
