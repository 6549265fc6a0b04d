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
export async function createWorkflow(
  deps: CommandDeps,
  reach: Reach,
  { workflow, createdBy }: CreateWorkflowInput,
): Promise<(WorkflowRow & { design: object }) | Refusal<'invalid_design'>> {
  const status = workflow.status ?? 'draft'
  const given = workflow.design ?? emptyDesign
  const isActive = status === 'active'
  const design = await requireDesign(deps, reach, given, isActive ? 'active' : 'draft')
  if (isRefusal(design)) return design
  const at = deps.now()
  const row: WorkflowRow = {
    id: deps.newId('workflow'),
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
  const refused = await transact(deps, async (inTrx) => {
    const { db } = inTrx
    await insertWorkflow(db, reach.workspaceId, row)
    const boundTo = reach.domainId
    await insertVersion(db, row, { design: given, createdBy, at, boundTo })
    return isActive ? setTriggers(inTrx, row, 1, design) : undefined
  })
  if (refused) return refused
  return { ...row, design: given }
}
