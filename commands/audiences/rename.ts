// Renames an audience.

import { updateAudienceName } from '../../db/audiences/writes.ts'
import { isId, type WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

export interface RenameAudienceInput {
  id: string
  name: string
}

/** Renames an audience. Two audiences may have the same name. */
export function renameAudience(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { id, name }: RenameAudienceInput,
): Promise<undefined | Refusal<'audience_not_found'>> {
  return transact.one(deps, async ({ db, now }) => {
    const known =
      isId('audience', id) && (await updateAudienceName(db, workspaceId, id, name, now()))
    return known ? undefined : refuse('audience_not_found', { id })
  })
}
