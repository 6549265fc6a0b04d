// Publishes a template: emails use its current version from now on.

import { updateTemplate } from '../../db/templates/writes.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { checkTemplateReach } from './users.ts'
import { withTemplate } from './withTemplate.ts'

/** @returns the template's id */
export function publishTemplate(
  deps: CommandDeps,
  reach: Reach,
  { idOrAlias }: { idOrAlias: string },
): Promise<
  | string
  | Refusal<'template_not_found' | 'template_empty' | 'domain_not_of_key' | 'template_not_of_key'>
> {
  return withTemplate(deps, reach.workspaceId, idOrAlias, async ({ db, now }, stored) => {
    const foreign = await checkTemplateReach({ db }, reach, stored)
    if (foreign) return foreign
    if (!stored.html && !stored.text) return refuse('template_empty', {})
    await updateTemplate(db, reach.workspaceId, stored.id, {
      published_version: stored.current_version,
      updated_at: now(),
    })
    return stored.id
  })
}
