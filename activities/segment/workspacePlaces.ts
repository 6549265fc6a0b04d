// Shares between workspaces how many segments run at once. Each holds a connection of the pool, and may wait with it for what somebody has
// locked: without shares, one workspace whose contacts are held would take all of them, and the places of this worker too.
import { createShares, NoPlace } from '../../db/shares.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { createRetries } from './places.ts'

/** How long one waits for a place; nobody does where the workspace's segments have stood still for so long. */
const WAIT_MS = 500

const RETRIES = {
  again_ms: 2_000,
  apart_ms: 10,
  // The pace of those before says nothing of the next, since it was the wait for whoever held what they lock.
  dense_after_ms: 0,
  dense_ms: 25,
}

/** Makes the places of one worker. @param connections of its pool; one workspace alone gets half of them */
export function createWorkspacePlaces(connections: number) {
  // The line is as long as the worker has places for segments: who waits where segments go on waits for some ms.
  // A timer may fire up to 1 ms early by the clock of the shares: who comes just after a wait has ended must find them still too.
  const bounds = { waitMs: WAIT_MS, stillMs: WAIT_MS - 1, lineMax: Number.POSITIVE_INFINITY }
  const shares = createShares(connections, bounds)
  const retries = createRetries(RETRIES)
  return {
    /** Gives a segment that was turned away its place among those that come again. @returns in how many ms it does */
    retryAfter_ms: retries.next_ms,
    /**
     * Takes a place, at once or after a short wait.
     * @returns a function that gives it back; null when those before it take long: then the segment comes again later
     * @throws ClientGone when the signal is aborted
     */
    async take(workspaceId: WorkspaceId, signal: AbortSignal): Promise<(() => void) | null> {
      try {
        return await shares.take({ kind: 'workspace', workspaceId }, signal)
      } catch (err) {
        if (err instanceof NoPlace) return null
        throw err
      }
    },
  }
}
