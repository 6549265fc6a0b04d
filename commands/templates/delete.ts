// Deletes a template with its versions. Mail that was sent with it keeps its content.

import { deleteTemplate as deleteRow } from '../../db/templates/writes.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { checkTemplateReach, findDesignsSending } from './users.ts'
import { withTemplate } from './withTemplate.ts'

/** Deletes a template. Refuses `template_in_use` while an active workflow sends it. */
export function deleteTemplate(
  deps: CommandDeps,
  { workspaceId, domainId }: Reach,
  { idOrAlias }: { idOrAlias: string },
): Promise<
  | undefined
  | Refusal<'template_not_found' | 'template_in_use' | 'domain_not_of_key' | 'template_not_of_key'>
> {
  return withTemplate(deps, workspaceId, idOrAlias, async ({ db }, stored) => {
    const foreign = await checkTemplateReach({ db }, { workspaceId, domainId }, stored)
    if (foreign) return foreign
    const names = stored.alias === null ? [stored.id] : [stored.id, stored.alias]
    const users = await findDesignsSending(db, workspaceId, names)
    const active = users.find(({ isActive }) => isActive)
    if (active) return refuse('template_in_use', { workflowId: active.id })
    await deleteRow(db, workspaceId, stored.id)
    return undefined
  })
}
