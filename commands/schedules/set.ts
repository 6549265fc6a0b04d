// Makes the schedules of a workflow those of its active design, and tells their workflow functions.
import { insertScheduleTask } from '../../db/outbox.ts'
import { listScheduleNodes } from '../../db/schedules/reads.ts'
import { deleteSchedules, upsertSchedule } from '../../db/schedules/writes.ts'
import type { WorkflowRow } from '../../db/workflows/reads.ts'
import type { ScheduleTrigger } from '../../rules/design/triggers.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'

/**
 * The caller holds the workflow's lock. A schedule with the same times and audience as before goes on; one that is not among
 * `triggers` ends, in the middle of its members too.
 * @param version of the design
 * @param triggers empty: the workflow is active no more
 */
export async function setSchedules(
  { db: trx, now, wake }: InTrx<Pick<CommandDeps, 'db' | 'now' | 'wake'>>,
  { id, workspace_id: workspaceId }: Pick<WorkflowRow, 'id' | 'workspace_id'>,
  version: number,
  triggers: readonly ScheduleTrigger[],
): Promise<void> {
  const at = now()
  const nodes = triggers.map(({ node_id }) => node_id)
  const before = await listScheduleNodes(trx, workspaceId, id)
  const told = [...new Set([...before, ...nodes])]
  if (told.length === 0) return
  await deleteSchedules(trx, workspaceId, id, nodes)
  for (const trigger of triggers) {
    await upsertSchedule(trx, workspaceId, { id, version }, trigger, at)
  }
  for (const nodeId of told) {
    await insertScheduleTask(trx, { workflowId: id, nodeId, workspaceId, at })
  }
  wake('dripline_outbox')
}
