// Remembers by which names of events nothing starts or wakes, as far as this process has seen.
import { LRUCache } from 'lru-cache'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Arrived } from './arrived.ts'

/** Of all workspaces; one that is forgotten costs its next event some round trips. */
const NAMES_MAX = 10_000
/**
 * How long a name is not taken for quiet after the guard has refused it: what was written with it was written in vain, and left an error in
 * the log of Postgres, which a name whose contacts wait now and then would do again and again.
 */
const REFUSED_MS = 3_600_000

/** By workspace and name. What is not here is recorded in more steps, which show what it is. */
const names = new LRUCache<string, 'quiet' | 'refused'>({ max: NAMES_MAX })

const keysOf = (workspaceId: WorkspaceId, group: readonly Arrived[]) =>
  new Set(group.map(({ event }) => `${workspaceId} ${event.eventName}`))

/** Whether the last events of all of these names started and woke nothing. */
export function areQuiet(workspaceId: WorkspaceId, group: readonly Arrived[]): boolean {
  for (const key of keysOf(workspaceId, group)) if (names.get(key) !== 'quiet') return false
  return true
}

/** Notes an event that started and woke nothing. */
export function noteQuiet(workspaceId: WorkspaceId, arrived: Arrived): void {
  for (const key of keysOf(workspaceId, [arrived])) if (!names.has(key)) names.set(key, 'quiet')
}

/** Notes that a group was refused. Which of its events was the reason nobody knows. */
export function noteRefused(workspaceId: WorkspaceId, group: readonly Arrived[]): void {
  for (const key of keysOf(workspaceId, group)) names.set(key, 'refused', { ttl: REFUSED_MS })
}
