// Archives a workflow: it starts no executions and is no longer found. Running executions go on.

import { lockWorkflow, updateWorkflow } from '../../db/workflows/writes.ts'
import { isId, type WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { setTriggers } from './triggers.ts'

/** Archives the workflow and deletes its triggers, in one transaction. */
export function archiveWorkflow(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { id }: { id: string },
): Promise<undefined | Refusal<'workflow_not_found'>> {
  return transact(deps, async (inTrx) => {
    const { db, now } = inTrx
    const workflow = isId('workflow', id) ? await lockWorkflow(db, workspaceId, id) : undefined
    if (!workflow) return refuse('workflow_not_found', { id })
    const at = now()
    await updateWorkflow(db, workspaceId, id, { archived_at: at }, at)
    await setTriggers(inTrx, workflow, workflow.active_version, null)
    return undefined
  })
}
