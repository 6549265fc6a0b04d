// Makes the triggers of a workflow those of its active design: what starts it at events, at times, and at segments whose members are
// kept for it.
import type { WorkflowRow } from '../../db/workflows/reads.ts'
import { listTriggersAbout, replaceTriggers } from '../../db/workflows/triggers.ts'
import { eventTriggers, scheduleTriggers } from '../../rules/design/triggers.ts'
import type { Design } from '../../rules/design/types.ts'
import type { CommandDeps } from '../deps.ts'
import { setSchedules } from '../schedules/set.ts'
import { keepSegments, segmentTriggers } from '../segments/keep.ts'
import type { InTrx } from '../transact.ts'

/** The caller holds the workflow's lock. @param design null: the workflow is active no more */
export async function setTriggers(
  deps: InTrx<Pick<CommandDeps, 'db' | 'now' | 'wake'>>,
  workflow: Pick<WorkflowRow, 'id' | 'workspace_id'>,
  version: number,
  design: Design | null,
): Promise<void> {
  const { id, workspace_id } = workflow
  const { db: trx } = deps
  const segmentsBefore = await listTriggersAbout(trx, workspace_id, id, segmentTriggers)
  const triggers = design ? eventTriggers(design) : []
  await replaceTriggers(trx, workspace_id, id, version, triggers)
  await setSchedules(deps, workflow, version, design ? scheduleTriggers(design) : [])
  const segmentsNow = triggers.flatMap(({ event_name, about }) =>
    about !== null && segmentTriggers.includes(event_name) ? [about] : [],
  )
  await keepSegments(deps, workspace_id, [...new Set([...segmentsBefore, ...segmentsNow])])
}
