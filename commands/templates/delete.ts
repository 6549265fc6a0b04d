// Deletes a template with its versions. Mail that was sent with it keeps its content.

import type { Trx } from '../../db/connect.ts'
import type { TemplateRow } from '../../db/templates/reads.ts'
import { deleteTemplate as deleteRow } from '../../db/templates/writes.ts'
import { listActiveDesignsHolding } from '../../db/workflows/reads.ts'
import { designReferences } from '../../rules/design/references.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { withTemplate } from './withTemplate.ts'

/** Deletes a template. Refuses `template_in_use` while an active workflow sends it. */
export function deleteTemplate(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { idOrAlias }: { idOrAlias: string },
): Promise<undefined | Refusal<'template_not_found' | 'template_in_use'>> {
  return withTemplate(deps, workspaceId, idOrAlias, async ({ db }, stored) => {
    const workflowId = await findWorkflowUsing(db, workspaceId, stored)
    if (workflowId !== undefined) return refuse('template_in_use', { workflowId })
    await deleteRow(db, workspaceId, stored.id)
    return undefined
  })
}

/** The id of an active workflow whose active version sends the template, if any. */
async function findWorkflowUsing(
  trx: Trx,
  workspaceId: WorkspaceId,
  { id, alias }: TemplateRow,
): Promise<string | undefined> {
  const names = alias === null ? [id] : [id, alias]
  const designs = await listActiveDesignsHolding(trx, workspaceId, names)
  const user = designs.find(({ design }) =>
    designReferences(design).templateIds.some((name) => names.includes(name)),
  )
  return user?.id
}
