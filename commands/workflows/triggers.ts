// Makes the triggers of a workflow those of its active design: what starts it at events, at times, and at segments whose members are
// kept for it.
import type { WorkflowRow } from '../../db/workflows/reads.ts'
import {
  countFilterBytes,
  listTriggersAbout,
  replaceTriggers,
} from '../../db/workflows/triggers.ts'
import { eventTriggers, scheduleTriggers } from '../../rules/design/triggers.ts'
import type { Design } from '../../rules/design/types.ts'
import { limits } from '../../rules/limits.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { setSchedules } from '../schedules/set.ts'
import { keepSegments, segmentTriggers } from '../segments/keep.ts'
import { SEGMENTS_MET, tooMuchMet } from '../segments/metConditions.ts'
import type { InTrx } from '../transact.ts'

/**
 * The caller holds the workflow's lock. Refuses a design with which the workspace's active workflows would have more conditions than each
 * event can meet (`metConditionsBytesMax`). A workspace that has more already, of a release before, keeps them.
 * @param design null: the workflow is active no more, which is never refused
 * @param resumes whether this version was the active one before: it may go past that up to `resumedConditionsBytesMax`, since its executions
 *   may be held
 */
export async function setTriggers(
  deps: InTrx<Pick<CommandDeps, 'db' | 'now' | 'wake'>>,
  workflow: Pick<WorkflowRow, 'id' | 'workspace_id'>,
  version: number,
  design: Design | null,
  resumes = false,
): Promise<undefined | Refusal<'invalid_design'>> {
  const { id, workspace_id } = workflow
  const { db: trx } = deps
  const bytesMax = limits[resumes ? 'resumedConditionsBytesMax' : 'metConditionsBytesMax']
  const segmentsBefore = await listTriggersAbout(trx, workspace_id, id, segmentTriggers)
  const triggers = design ? eventTriggers(design) : []
  const bytesBefore = await countFilterBytes(trx, workspace_id, id)
  await replaceTriggers(trx, workspace_id, id, version, triggers)
  // Whoever changes triggers of the workspace at the same moment has been waited for: the number of their state is one row.
  const bytes = await countFilterBytes(trx, workspace_id, id)
  if (bytes.own > bytesBefore.own && bytes.all > bytesMax) {
    return tooLarge('the filters of triggers', bytesMax)
  }
  await setSchedules(deps, workflow, version, design ? scheduleTriggers(design) : [])
  const segmentsNow = triggers.flatMap(({ event_name, about }) =>
    about !== null && segmentTriggers.includes(event_name) ? [about] : [],
  )
  const segments = [...new Set([...segmentsBefore, ...segmentsNow])]
  const isWithin = await keepSegments(deps, workspace_id, segments, bytesMax)
  return isWithin ? undefined : tooLarge(SEGMENTS_MET, bytesMax)
}

const tooLarge = (what: string, bytesMax: number) =>
  refuse('invalid_design', { problems: [tooMuchMet('nodes', what, bytesMax)] })
