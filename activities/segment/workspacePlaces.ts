// Shares between workspaces how many segments run at once. Each holds a connection of the pool, and may wait with it for what somebody has
// locked: without shares, one workspace whose contacts are held would take all of them, and the places of this worker too.
import { createShares } from '../../db/shares.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { createRetries } from '../comingAgain.ts'
import { takeShare } from '../takeShare.ts'

const BOUNDS = {
  // Nobody waits where the workspace's segments stand still for so long; where they go on, as long as a request of the API does.
  stillMs: 500,
  // The line needs no bound: a worker has no more segments at once than places for them.
  lineMax: Number.POSITIVE_INFINITY,
  // Nobody but workspaces asks.
  reserves: false,
}

const RETRIES = {
  again_ms: 2_000,
  // The pace of those before says nothing of the next, since it was the wait for whoever held what they lock.
  dense_after_ms: 0,
  dense_ms: 25,
}

/** What is left to the worker's other work, such as the starter and the pump, however many workspaces stand still. */
const REST = 1

/** Makes the places of one worker. @param connections of its pool; one workspace alone gets half of them */
export function createWorkspacePlaces(connections: number) {
  // Of two each of two workspaces has one.
  const shares = createShares(connections > 2 ? connections - REST : connections, BOUNDS)
  const retries = createRetries(RETRIES)
  return {
    /** Gives a segment that was turned away its place among those that come again. @returns in how many ms it does */
    retryAfter_ms: retries.next_ms,
    /**
     * Takes a place, at once or in turn.
     * @returns a function that gives it back; null when those before it take long: then the segment comes again later
     * @throws the signal's reason when it is aborted
     */
    take: (workspaceId: WorkspaceId, signal: AbortSignal): Promise<(() => void) | null> =>
      takeShare(shares, workspaceId, signal),
  }
}
