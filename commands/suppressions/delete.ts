// Removes an address from the suppression list.

import { deleteErasedSuppression } from '../../db/suppressions/erased.ts'
import { deleteSuppression } from '../../db/suppressions/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/**
 * Deletes the suppression and the counted soft bounces of an address. Refuses `not_suppressed` if it is not
 * suppressed now.
 */
export function unsuppressAddress(
  deps: CommandDeps,
  workspaceId: WorkspaceId,
  { email }: { /** In lower case. */ email: string },
): Promise<undefined | Refusal<'not_suppressed'>> {
  const hmac = deps.addressMac(workspaceId, email)
  return transact(deps, async ({ db, now }) => {
    const at = now()
    const held = await deleteSuppression(db, workspaceId, email, at)
    const wasErased = await deleteErasedSuppression(db, workspaceId, hmac, at)
    return held || wasErased ? undefined : refuse('not_suppressed', { email })
  })
}
