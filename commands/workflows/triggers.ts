// Makes the triggers of a workflow those of its active design: what starts it at events, and at times.
import type { WorkflowRow } from '../../db/workflows/reads.ts'
import { replaceTriggers } from '../../db/workflows/triggers.ts'
import { eventTriggers, scheduleTriggers } from '../../rules/design/triggers.ts'
import type { Design } from '../../rules/design/types.ts'
import type { CommandDeps } from '../deps.ts'
import { setSchedules } from '../schedules/set.ts'
import type { InTrx } from '../transact.ts'

/** The caller holds the workflow's lock. @param design null: the workflow is active no more */
export async function setTriggers(
  deps: InTrx<Pick<CommandDeps, 'db' | 'now' | 'wake'>>,
  workflow: Pick<WorkflowRow, 'id' | 'workspace_id'>,
  version: number,
  design: Design | null,
): Promise<void> {
  const { id, workspace_id } = workflow
  await replaceTriggers(deps.db, workspace_id, id, version, design ? eventTriggers(design) : [])
  await setSchedules(deps, workflow, version, design ? scheduleTriggers(design) : [])
}
