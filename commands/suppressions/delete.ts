// Takes an address off the suppression list.

import { deleteSuppression } from '../../db/suppressions/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** Deletes its suppression and what counts towards one; refuses `not_suppressed` when none holds now. */
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
