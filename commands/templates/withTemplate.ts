// Finds a template by id or alias, locks it and runs a change.

import type { TemplateRow } from '../../db/templates/reads.ts'
import { lockTemplate } from '../../db/templates/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { type InTrx, transact } from '../transact.ts'

/** Runs work under the template's lock, with the content of its current version. */
export async function withTemplate<T>(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  idOrAlias: string,
  work: (deps: InTrx<CommandDeps>, stored: TemplateRow) => Promise<T>,
): Promise<T | Refusal<'template_not_found'>> {
  return transact(deps, async (inTrx) => {
    const stored = await lockTemplate(inTrx.db, workspaceId, idOrAlias)
    if (!stored) return refuse('template_not_found', { idOrAlias })
    return work(inTrx, stored)
  })
}
