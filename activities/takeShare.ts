// Takes a place among those that workspaces share, for work that comes again later when it finds none.
import { NoPlace, type Shares } from '../db/shares.ts'
import type { WorkspaceId } from '../rules/ids.ts'

/**
 * Takes a place, at once or in turn.
 * @param signal ends the wait
 * @returns a function that gives it back; null: there is none
 * @throws the signal's reason when it is aborted
 */
export async function takeShare(
  shares: Shares,
  workspaceId: WorkspaceId,
  signal: AbortSignal,
): Promise<(() => void) | null> {
  try {
    return await shares.take({ kind: 'workspace', workspaceId }, signal)
  } catch (err) {
    if (err instanceof NoPlace) return null
    signal.throwIfAborted()
    throw err
  }
}
