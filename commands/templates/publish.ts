// Publishes a template: emails use its current version from now on.

import { updateTemplate } from '../../db/templates/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { withTemplate } from './withTemplate.ts'

/** @returns the template's id */
export function publishTemplate(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { idOrAlias }: { idOrAlias: string },
): Promise<string | Refusal<'template_not_found' | 'template_empty'>> {
  return withTemplate(deps, workspaceId, idOrAlias, async ({ db, now }, stored) => {
    if (!stored.html && !stored.text) return refuse('template_empty', {})
    await updateTemplate(db, workspaceId, stored.id, {
      published_version: stored.current_version,
      updated_at: now(),
    })
    return stored.id
  })
}
