// Ends the warm-up of a sending domain, or begins it anew.

import { hastenUntried, setWarmedUp, startLadder } from '../../db/domains/warmUp.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

type Deps = Pick<CommandDeps, 'db' | 'now' | 'wake'>

interface Which {
  id: string
  workspace_id: WorkspaceId
}

/** Rows that one statement changes, so that none is locked for long. */
const PAGE = 1_000

/**
 * Marks a domain as warm; what waits and was never tried becomes due now. It may be called again: it then makes due what
 * is left. @returns how much mail became due
 */
export async function endWarmUp(deps: Deps, { id, workspace_id }: Which): Promise<number> {
  const now = deps.now()
  // Its own transaction, which waits for a lane that is giving out places: what that puts off is found below.
  await transact(deps, ({ db }) => setWarmedUp(db, [id], now))
  let due = 0
  for (let shard = 0; shard < limits.shards; shard++) {
    let changed: number
    do {
      const page = { domainId: id, shard, now, limit: PAGE }
      changed = await transact.one(deps, ({ db }) => hastenUntried(db, workspace_id, page))
      due += changed
    } while (changed === PAGE)
  }
  return due
}

/** Makes a domain cold and begins its ladder at the first step, today. What has a place or was tried keeps its time. */
export function restartWarmUp(deps: Deps, { id, workspace_id }: Which): Promise<void> {
  return transact(deps, ({ db }) => startLadder(db, workspace_id, id))
}
