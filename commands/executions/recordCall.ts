// Records what a try of a request of a node gave.
import { type CallTry, updateCall } from '../../db/executions/calls.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** A call that is over stays as it is. @returns whether it was not */
export function recordCall(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  given: Omit<CallTry, 'now'>,
): Promise<boolean> {
  return transact.one(deps, ({ db, now }) => updateCall(db, workspaceId, { ...given, now: now() }))
}
