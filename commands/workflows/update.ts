// Changes a workflow: its name, its status, or its design, which becomes a new version.

import type { Trx } from '../../db/connect.ts'
import { findWorkflowVersion, type WorkflowRow } from '../../db/workflows/reads.ts'
import { lockWorkflow, setEngine, updateWorkflow as updateRow } from '../../db/workflows/writes.ts'
import type { Design } from '../../rules/design/types.ts'
import { ENGINE } from '../../rules/engine.ts'
import { isId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { jsonEquals } from '../../rules/paths.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import type { WorkflowStatus } from '../../rules/states.ts'
import type { HeldAction } from '../../rules/wire.ts'
import type { CommandDeps } from '../deps.ts'
import { type InTrx, transact } from '../transact.ts'
import { requireDesign } from './checkDesign.ts'
import { setTriggers } from './triggers.ts'
import { insertVersion } from './version.ts'

/** Undefined leaves a field as it is. */
export interface WorkflowChange {
  name?: string | undefined
  status?: WorkflowStatus | undefined
  design?: JsonObject | undefined
  /** With the status `active`: what becomes of executions that it held while it was not; `release` if absent. */
  held?: HeldAction | undefined
  /** Refuses `version_conflict` if the current version is another one. */
  expected_version?: number | undefined
}

export interface UpdateWorkflowInput {
  id: string
  change: WorkflowChange
  /** Id of the API key. */
  changedBy: string
}

type Refused = Refusal<'workflow_not_found' | 'version_conflict' | 'invalid_design'>

/**
 * A changed design becomes a new version. Nothing changes if the design would become active and is not valid.
 * @returns the changed workflow
 */
export function updateWorkflow(
  deps: CommandDeps,
  reach: Reach,
  input: UpdateWorkflowInput,
): Promise<WorkflowRow | Refused> {
  const { id, change } = input
  return transact(deps, async (inTrx) => {
    const { db } = inTrx
    const workflow = isId('workflow', id)
      ? await lockWorkflow(db, reach.workspaceId, id)
      : undefined
    if (!workflow) return refuse('workflow_not_found', { id })
    const { current_version } = workflow
    const { expected_version: expected } = change
    if (expected !== undefined && expected !== current_version) {
      return refuse('version_conflict', { expected, currentVersion: current_version })
    }
    const { design: stored, bound_domain_id } = await storedVersion(db, workflow)
    const given = change.design ?? stored
    const status = change.status ?? workflow.status

    // The shape is checked first: only plain JSON within the limits may be compared and stored.
    if (change.design) {
      const draft = await requireDesign(inTrx, reach, given, 'draft')
      if (isRefusal(draft)) return draft
    }
    // Who gives the design anew answers for it, and so for the secrets that it reads.
    const isFreed =
      change.design !== undefined && reach.domainId === null && bound_domain_id !== null
    const isNew = isFreed || !jsonEquals(given, stored)
    const boundTo = isNew ? reach.domainId : bound_domain_id
    const activates = status === 'active' && (isNew || workflow.status !== 'active')
    if (activates) {
      const of = { boundTo: boundTo ?? reach.domainId, workflow }
      const active = await requireDesign(inTrx, reach, given, 'active', of)
      if (isRefusal(active)) return active
    }
    return write(inTrx, workflow, { ...input, given, status, isNew, activates, boundTo })
  })
}

/** What becomes of the held. Whoever changes something else of an active workflow says nothing about those that are left. */
const heldNow = ({ status, held }: WorkflowRow, change: WorkflowChange): HeldAction => {
  if (change.status !== 'active') return held
  return change.held ?? (status === 'active' ? held : 'release')
}

async function storedVersion(trx: Trx, workflow: WorkflowRow) {
  const { id, workspace_id, current_version } = workflow
  const stored = await findWorkflowVersion(trx, workspace_id, id, current_version)
  if (!stored) throw new Error(`workflow ${id} has no version ${current_version}`)
  return { design: stored.design as JsonObject, bound_domain_id: stored.bound_domain_id }
}

interface Decided extends UpdateWorkflowInput {
  given: JsonObject
  status: WorkflowStatus
  /** The design differs from the current version's. */
  isNew: boolean
  /** New executions will run the design. */
  activates: boolean
  /** The domain whose secrets alone the version reads; null: all. */
  boundTo: string | null
}

async function write(
  inTrx: InTrx<CommandDeps>,
  workflow: WorkflowRow,
  { change, changedBy, given, status, isNew, activates, boundTo }: Decided,
): Promise<WorkflowRow | Refusal<'invalid_design'>> {
  const { id, workspace_id } = workflow
  const { db } = inTrx
  const at = inTrx.now()
  const version = workflow.current_version + (isNew ? 1 : 0)
  const resumes = activates && workflow.active_version === version
  const columns = {
    name: change.name ?? workflow.name,
    status,
    current_version: version,
    active_version: activates ? version : workflow.active_version,
    held: heldNow(workflow, change),
  }
  const row = await updateRow(db, workspace_id, id, columns, at)
  if (isNew) await insertVersion(db, row, { design: given, createdBy: changedBy, at, boundTo })
  // One that was active before keeps what its executions began under.
  else if (activates && !resumes) {
    await setEngine(db, workspace_id, { workflowId: id, version, engine: ENGINE })
  }
  const stops = workflow.status === 'active' && status !== 'active'
  if (!activates && !stops) return row
  const active = activates ? (given as unknown as Design) : null
  return (await setTriggers(inTrx, workflow, version, active, resumes)) ?? row
}
