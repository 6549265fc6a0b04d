// Cancels an execution: decided by one commit, told to Temporal through the outbox.

import type { ApiDeps } from '../../api/http/env.ts'
import { conflict, notFound } from '../../api/http/errors.ts'
import { type ExecutionRow, findExecution } from '../../db/executions/reads.ts'
import { cancelExecutions } from '../../db/executions/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

const DEFAULT_REASON = 'cancelled'

/** Cancelling a cancelled one is no error. @throws ApiError 404, 409 `execution_not_running` */
export async function cancelExecution(
  { db, now, wake }: Pick<ApiDeps, 'db' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  id: string,
  reason: string | null,
): Promise<ExecutionRow> {
  const at = now()
  const cancelled = await db
    .transaction()
    .execute((trx) =>
      cancelExecutions(trx, workspaceId, { executionId: id }, reason || DEFAULT_REASON, at),
    )
  if (cancelled.length > 0) wake('dripline_outbox')
  const row = await findExecution(db, workspaceId, id)
  if (!row) throw notFound('Execution not found', null)
  if (row.ended_status !== 'CANCELLED') {
    throw conflict('The execution has ended', 'execution_not_running')
  }
  return row
}
