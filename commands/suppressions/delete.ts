// Removes an address from the suppression list.

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
  return transact.one(deps, async ({ db, now }) => {
    const held = await deleteSuppression(db, workspaceId, email, now())
    return held ? undefined : refuse('not_suppressed', { email })
  })
}
