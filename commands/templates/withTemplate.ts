// What every change of a template has around it: the template by id or alias, under its lock.

import type { TemplateRow } from '../../db/templates/reads.ts'
import { lockTemplate } from '../../db/templates/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { type InTrx, transact } from '../transact.ts'

/** Runs work under the lock of a template with the content of its current version. */
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
