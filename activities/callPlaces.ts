// Bounds how many requests of nodes one worker makes at once for one workspace, and to one host.
import { limits } from '../rules/limits.ts'

/** Who waits for a place comes again after this time, a little later each time. */
const AGAIN_MS = 500
const AGAIN_MS_MAX = 30_000

/** Makes the places of one worker. @param random from 0 to below 1 */
export function createCallPlaces(random: () => number = Math.random) {
  const ofWorkspaces = createCount(limits.httpCallsPerWorkspaceMax)
  const ofHosts = createCount(limits.httpCallsPerHostMax)
  return {
    /** Takes a place. @returns a function that gives it back; null when there is none */
    take(workspaceId: string, host: string): (() => void) | null {
      if (ofWorkspaces.isFull(workspaceId) || ofHosts.isFull(host)) return null
      ofWorkspaces.add(workspaceId, 1)
      ofHosts.add(host, 1)
      return () => {
        ofWorkspaces.add(workspaceId, -1)
        ofHosts.add(host, -1)
      }
    },
    /** In how many ms somebody without a place asks again: later each time, spread by chance. @param times how often so far */
    retryAfter_ms: (times: number): number =>
      Math.round(Math.min(AGAIN_MS * times, AGAIN_MS_MAX) * (0.5 + random())),
  }
}

function createCount(max: number) {
  const counts = new Map<string, number>()
  return {
    isFull: (key: string): boolean => (counts.get(key) ?? 0) >= max,
    add(key: string, by: number): void {
      const count = (counts.get(key) ?? 0) + by
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}
