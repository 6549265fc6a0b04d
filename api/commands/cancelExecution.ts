// Cancels one execution: from the commit on it reads CANCELLED.
import { type ExecutionRow, findExecution } from '../../db/executionReads.ts'
import { cancelExecutions } from '../../db/executions.ts'
import type { ApiDeps } from '../deps.ts'
import { conflict } from '../errors.ts'

const DEFAULT_REASON = 'cancelled'

/**
 * @returns its last state, also when it was cancelled before; undefined when the workspace has no such execution
 * @throws ApiError 409 `execution_not_running`
 */
export async function cancelExecution(
  { db, now, wake }: Pick<ApiDeps, 'db' | 'now' | 'wake'>,
  workspaceId: string,
  executionId: string,
  reason: string | null,
): Promise<ExecutionRow | undefined> {
  const given = reason || DEFAULT_REASON
  const cancelled = await db
    .transaction()
    .execute((trx) => cancelExecutions(trx, workspaceId, { executionId }, given, now()))
  if (cancelled.length > 0) wake('dripline_outbox')
  const row = await findExecution(db, workspaceId, executionId)
  if (row && row.ended_status !== 'CANCELLED') {
    throw conflict(`The execution has ended: ${row.ended_status}`, 'execution_not_running')
  }
  return row
}
