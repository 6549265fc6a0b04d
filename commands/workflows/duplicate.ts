// Copies a workflow: the design of its current version as a draft with another name.

import { findWorkflow, type WorkflowRow } from '../../db/workflows/reads.ts'
import { isId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { createWorkflow } from './create.ts'

const SUFFIX = ' copy'

export interface DuplicateWorkflowInput {
  id: string
  /** Id of the API key. */
  createdBy: string
}

/** @returns the copy with its design */
export async function duplicateWorkflow(
  deps: CommandDeps,
  reach: Reach,
  { id, createdBy }: DuplicateWorkflowInput,
): Promise<(WorkflowRow & { design: object }) | Refusal<'workflow_not_found' | 'invalid_design'>> {
  const stored = isId('workflow', id)
    ? await findWorkflow(deps.db, reach.workspaceId, id)
    : undefined
  if (!stored) return refuse('workflow_not_found', { id })
  const name = stored.name.slice(0, limits.workflowNameCharsMax - SUFFIX.length) + SUFFIX
  const workflow = { name, design: stored.design as JsonObject }
  return createWorkflow(deps, reach, { workflow, createdBy })
}
