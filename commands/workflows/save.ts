// Saves workflows: makes them, changes them by immutable versions, activates and archives them, in one transaction each.

import type { ApiDeps, RequestKey } from '../../api/http/env.ts'
import { conflict } from '../../api/http/errors.ts'
import type { NewWorkflow, WorkflowChange } from '../../api/workflows/schemas.ts'
import type { Trx } from '../../db/connect.ts'
import { findWorkflowVersion, type WorkflowRow } from '../../db/workflows/reads.ts'
import { replaceTriggers } from '../../db/workflows/triggers.ts'
import {
  insertWorkflow,
  insertWorkflowVersion,
  lockWorkflow,
  updateWorkflow,
} from '../../db/workflows/writes.ts'
import { eventTriggers } from '../../rules/design/triggers.ts'
import type { Design } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import { jsonEquals } from '../../rules/paths.ts'
import { requireDesign } from './checkDesign.ts'

type Deps = Pick<ApiDeps, 'db' | 'now' | 'newId' | 'config'>

const emptyDesign: JsonObject = { nodes: [], edges: [] }

/** @throws ApiError 400 `invalid_design` */
export async function createWorkflow(
  deps: Deps,
  key: RequestKey,
  input: NewWorkflow,
): Promise<WorkflowRow & { design: object }> {
  const { db, now, newId } = deps
  const { workspace_id } = key
  const status = input.status ?? 'draft'
  const given = input.design ?? emptyDesign
  const use = status === 'active' ? 'active' : 'draft'
  const design = await requireDesign(deps, workspace_id, given, use)
  const at = now()
  const row: WorkflowRow = {
    id: newId('workflow'),
    workspace_id,
    name: input.name,
    status,
    current_version: 1,
    active_version: status === 'active' ? 1 : 0,
    created_by: key.id,
    created_by_type: 'apiKey',
    created_at: at,
    updated_at: at,
    archived_at: null,
  }
  await db.transaction().execute(async (trx) => {
    await insertWorkflow(trx, row)
    await insertVersion(trx, row, given, key, at)
    if (status === 'active') await replaceTriggers(trx, row, 1, triggersOf(design))
  })
  return { ...row, design: given }
}

/**
 * Operation 10, and the restoring of a version. A changed design becomes a new version; nothing changes when the
 * design that would be active is not valid.
 * @returns undefined when the workspace has no such workflow
 * @throws ApiError 400 `invalid_design`, 409 `version_conflict`
 */
export function changeWorkflow(
  deps: Deps,
  key: RequestKey,
  id: string,
  change: WorkflowChange,
): Promise<WorkflowRow | undefined> {
  const at = deps.now()
  return deps.db.transaction().execute(async (trx) => {
    const workflow = await lockWorkflow(trx, key.workspace_id, id)
    if (!workflow) return undefined
    const { current_version } = workflow
    if (change.expected_version !== undefined && change.expected_version !== current_version) {
      const text = `The workflow is at version ${current_version}`
      throw conflict(text, 'version_conflict')
    }
    const stored = await findWorkflowVersion(trx, key.workspace_id, id, current_version)
    if (!stored) throw new Error(`workflow ${id} has no version ${current_version}`)
    const storedDesign = stored.design as JsonObject
    const given = change.design ?? storedDesign
    const status = change.status ?? workflow.status
    const wasActive = workflow.status === 'active'

    // A draft's shape comes first: only what is plain JSON within the limits may be compared and stored.
    if (change.design) await requireDesign(deps, key.workspace_id, given, 'draft')
    const isNew = !jsonEquals(given, storedDesign)
    const activates = status === 'active' && (isNew || !wasActive)
    const inTrx = { ...deps, db: trx }
    if (activates) await requireDesign(inTrx, key.workspace_id, given, 'active')

    const version = isNew ? current_version + 1 : current_version
    const row = await updateWorkflow(
      trx,
      id,
      {
        name: change.name ?? workflow.name,
        status,
        current_version: version,
        active_version: activates ? version : workflow.active_version,
      },
      at,
    )
    if (isNew) await insertVersion(trx, row, given, key, at)
    if (activates) await replaceTriggers(trx, row, version, triggersOf(given as unknown as Design))
    else if (wasActive && status !== 'active') await replaceTriggers(trx, row, version, [])
    return row
  })
}

/** Archives: it triggers no more and is not found any more; its executions go on. @returns false: no such workflow */
export function archiveWorkflow(
  { db, now }: Deps,
  workspaceId: WorkspaceId,
  id: string,
): Promise<boolean> {
  const at = now()
  return db.transaction().execute(async (trx) => {
    const workflow = await lockWorkflow(trx, workspaceId, id)
    if (!workflow) return false
    await updateWorkflow(trx, id, { archived_at: at }, at)
    await replaceTriggers(trx, workflow, workflow.active_version, [])
    return true
  })
}

/** The name of a copy, within the limit. */
export function copyName(name: string): string {
  const suffix = ' copy'
  return name.slice(0, limits.workflowNameCharsMax - suffix.length) + suffix
}

function insertVersion(
  trx: Trx,
  row: WorkflowRow,
  design: JsonObject,
  key: RequestKey,
  at: Date,
): Promise<void> {
  return insertWorkflowVersion(trx, {
    workflow_id: row.id,
    version: row.current_version,
    workspace_id: row.workspace_id,
    design: JSON.stringify(design),
    created_by: key.id,
    created_at: at,
  })
}

/** The event triggers with their re-entry rules. */
function triggersOf(design: Design) {
  const rules = new Map(
    design.nodes.flatMap((node) =>
      node.type === 'trigger' ? [[node.id, node.data.re_entry ?? null]] : [],
    ),
  )
  return eventTriggers(design).map((trigger) => ({
    ...trigger,
    re_entry: rules.get(trigger.node_id) ?? null,
  }))
}
