// Deletes a template with its versions. Mail that was sent with it keeps its content.

import { findWorkflowUsingTemplate } from '../../db/templates/reads.ts'
import { deleteTemplate as deleteRow } from '../../db/templates/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { withTemplate } from './withTemplate.ts'

/** Refuses `template_in_use` while an active workflow sends it. */
export function deleteTemplate(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { idOrAlias }: { idOrAlias: string },
): Promise<undefined | Refusal<'template_not_found' | 'template_in_use'>> {
  return withTemplate(deps, workspaceId, idOrAlias, async ({ db }, stored) => {
    const user = await findWorkflowUsingTemplate(db, workspaceId, stored)
    if (user) return refuse('template_in_use', { workflowId: user.id })
    await deleteRow(db, workspaceId, stored.id)
    return undefined
  })
}
