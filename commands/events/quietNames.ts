// Remembers quiet names: those of events by which nothing starts or wakes, as far as this process has seen. Events of these are tried as
// unawaited ones (unawaited.ts); whether they are, the guard of that statement decides each time.
import { LRUCache } from 'lru-cache'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Arrived } from './arrived.ts'

/** Names of all workspaces that are remembered; one that is forgotten costs its next event some round trips. */
const NAMES_MAX = 10_000
/**
 * How long a name is not taken for quiet after the guard has refused it: what was written with it was written in vain, and left an error in
 * the log of Postgres, which a name whose contacts wait now and then would do again and again.
 */
const REFUSED_MS = 3_600_000

/**
 * `quiet` or `refused`, by workspace and name. An event of a name that is not here is recorded in more steps, which show whether the name is
 * quiet.
 */
const states = new LRUCache<string, 'quiet' | 'refused'>({ max: NAMES_MAX })

const keyOf = (workspaceId: WorkspaceId, name: string) => `${workspaceId} ${name}`

/** The key of each name, once: a batch has many events and few names, so none is made for each event. */
function keysOf(workspaceId: WorkspaceId, group: readonly Arrived[]): string[] {
  const names = new Set(group.map(({ event }) => event.eventName))
  return Array.from(names, (name) => keyOf(workspaceId, name))
}

/** Whether each of these names had an event that started and woke nothing, and none that the guard has refused lately. */
export function areQuiet(workspaceId: WorkspaceId, group: readonly Arrived[]): boolean {
  for (const key of keysOf(workspaceId, group)) if (states.get(key) !== 'quiet') return false
  return true
}

/** Notes the name of an event that started and woke nothing, unless the guard has refused it lately. */
export function noteQuiet(workspaceId: WorkspaceId, { event }: Arrived): void {
  const key = keyOf(workspaceId, event.eventName)
  if (!states.has(key)) states.set(key, 'quiet')
}

/** Notes all names of a group of which the guard has said that something begins or waits for one: it does not say for which. */
export function noteAwaited(workspaceId: WorkspaceId, group: readonly Arrived[]): void {
  for (const key of keysOf(workspaceId, group)) states.set(key, 'refused', { ttl: REFUSED_MS })
}
