// Makes the design of an earlier version of a workflow current again, as a new version.

import { findWorkflow, findWorkflowVersion, type WorkflowRow } from '../../db/workflows/reads.ts'
import { isId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { updateWorkflow } from './update.ts'

export interface RestoreWorkflowInput {
  id: string
  /** As given in the request. A text that is not a version number is not found. */
  version: string
  /** Id of the API key. */
  changedBy: string
}

/** The version number in a text; undefined if it is not one. */
export function versionNumber(text: string): number | undefined {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined
}

/** @returns the changed workflow */
export async function restoreWorkflow(
  deps: CommandDeps,
  reach: Reach,
  { id, version, changedBy }: RestoreWorkflowInput,
): Promise<
  | WorkflowRow
  | Refusal<
      'workflow_not_found' | 'workflow_version_not_found' | 'version_conflict' | 'invalid_design'
    >
> {
  const known = isId('workflow', id) && (await findWorkflow(deps.db, reach.workspaceId, id))
  if (!known) return refuse('workflow_not_found', { id })
  const number = versionNumber(version)
  const stored =
    number === undefined
      ? undefined
      : await findWorkflowVersion(deps.db, reach.workspaceId, id, number)
  if (!stored) return refuse('workflow_version_not_found', { id, version })
  const change = { design: stored.design as JsonObject }
  return updateWorkflow(deps, reach, { id, change, changedBy })
}
