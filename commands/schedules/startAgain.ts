// Has the workflow function of a schedule started again that does not run.
import { insertScheduleTask } from '../../db/outbox.ts'
import type { LiveSchedule } from '../../db/schedules/reads.ts'
import { lockSchedule } from '../../db/schedules/writes.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** @returns false if its workflow has it no more, or it has no time left */
export function startScheduleAgain(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  { workflow_id: workflowId, node_id: nodeId, workspace_id: workspaceId }: LiveSchedule,
): Promise<boolean> {
  return transact(deps, async ({ db: trx, now, wake }) => {
    const row = await lockSchedule(trx, workspaceId, { workflowId, nodeId })
    if (!row || row.is_over) return false
    await insertScheduleTask(trx, { workflowId, nodeId, workspaceId, at: now() })
    wake('dripline_outbox')
    return true
  })
}
