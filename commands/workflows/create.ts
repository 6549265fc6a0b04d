// Makes a workflow with its first version.

import type { WorkflowRow } from '../../db/workflows/reads.ts'
import { insertWorkflow } from '../../db/workflows/writes.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal, type Refusal } from '../../rules/refusals.ts'
import type { WorkflowStatus } from '../../rules/states.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { requireDesign } from './checkDesign.ts'
import { setTriggers } from './triggers.ts'
import { insertVersion } from './version.ts'

export interface NewWorkflow {
  name: string
  /** If absent: a design without nodes. */
  design?: JsonObject | undefined
  /** `draft` if absent. */
  status?: WorkflowStatus | undefined
}

export interface CreateWorkflowInput {
  workflow: NewWorkflow
  /** Id of the API key. */
  createdBy: string
}

const emptyDesign: JsonObject = { nodes: [], edges: [] }

/** @returns the workflow with its design */
export function createWorkflow(
  deps: CommandDeps,
  reach: Reach,
  { workflow, createdBy }: CreateWorkflowInput,
): Promise<(WorkflowRow & { design: object }) | Refusal<'invalid_design'>> {
  const status = workflow.status ?? 'draft'
  const given = workflow.design ?? emptyDesign
  const isActive = status === 'active'
  return transact(deps, async (inTrx) => {
    const { db, newId, now } = inTrx
    const design = await requireDesign(inTrx, reach, given, isActive ? 'active' : 'draft')
    if (isRefusal(design)) return design
    const at = now()
    const row: WorkflowRow = {
      id: newId('workflow'),
      workspace_id: reach.workspaceId,
      name: workflow.name,
      status,
      current_version: 1,
      active_version: isActive ? 1 : 0,
      held: 'release',
      created_by: createdBy,
      created_by_type: 'apiKey',
      created_at: at,
      updated_at: at,
      archived_at: null,
    }
    await insertWorkflow(db, reach.workspaceId, row)
    const boundTo = reach.domainId
    await insertVersion(db, row, { design: given, createdBy, at, boundTo })
    const refused = isActive ? await setTriggers(inTrx, row, 1, design) : undefined
    return refused ?? { ...row, design: given }
  })
}
