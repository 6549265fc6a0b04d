// Deletes an audience. Its contacts go afterwards (forgetDeleted.ts).

import { deleteAudience as deleteRow } from '../../db/audiences/writes.ts'
import { isId, type WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { fillReadersOf } from '../segments/keep.ts'
import { transact } from '../transact.ts'

/**
 * From the commit on the audience is gone for everybody, and its contacts are in none; to delete the rows of many would keep the caller waiting.
 * No `audience.left` is recorded for them, and segments that read the audience find their members anew, silently.
 */
export function deleteAudience(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { id }: { id: string },
): Promise<undefined | Refusal<'audience_not_found'>> {
  return transact(deps, async (inTrx) => {
    const known = isId('audience', id) && (await deleteRow(inTrx.db, workspaceId, id, inTrx.now()))
    if (!known) return refuse('audience_not_found', { id })
    await fillReadersOf(inTrx, workspaceId, id)
    return undefined
  })
}
