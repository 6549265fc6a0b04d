// Records events that start and wake nothing, which most do, in one round trip.
import { LRUCache } from 'lru-cache'
import type { OnHeldContacts } from '../../db/events/groupWrites.ts'
import { insertUnawaitedGroup } from '../../db/events/unawaited.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { currentHeldCommit } from '../heldCommit.ts'
import { transact } from '../transact.ts'
import { ALONE, type Arrived, makeRows } from './arrived.ts'
import { type RecordedEvent, toNew } from './record.ts'

type Deps = Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>

const AWAITED_MAX = 10_000
/** How long names are taken to be awaited after events of them were. What was written in vain until then is undone once a minute. */
const AWAITED_MS = 60_000

/** By workspace: names of events of a group of which one started or woke something. */
const awaited = new LRUCache<string, true>({ max: AWAITED_MAX, ttl: AWAITED_MS })

/**
 * Commits events, no two of the same contact or event_id.
 * @param onHeld `wait`: all are recorded or none
 * @returns what each was recorded as, in order, or that it goes alone; undefined: nothing was written, since one of them may start or wake
 * something, or was not recorded with the others
 */
export async function recordUnawaited(
  deps: Deps,
  workspaceId: WorkspaceId,
  group: readonly Arrived[],
  onHeld: OnHeldContacts,
): Promise<(RecordedEvent | typeof ALONE)[] | undefined> {
  // The answer of a request with an Idempotency-Key is stored in its transaction.
  if (currentHeldCommit() || !group.every(isPlain)) return undefined
  const keys = new Set(group.map(({ event }) => `${workspaceId} ${event.eventName}`))
  for (const key of keys) if (awaited.has(key)) return undefined
  const made = makeRows(deps, workspaceId, group)
  const contactIds = await transact.one(deps, ({ db }) =>
    insertUnawaitedGroup(
      db,
      workspaceId,
      made.map(({ row }) => row),
      onHeld,
    ),
  )
  if (contactIds === 'awaited') for (const key of keys) awaited.set(key, true)
  if (!Array.isArray(contactIds)) return undefined
  return made.map(({ event, now, row: { id, event_id: eventId } }, place) => {
    const contactId = contactIds[place]
    return contactId ? toNew({ event, now, id, eventId, contact: { id: contactId } }, []) : ALONE
  })
}

/** Whether nothing follows from an event that nobody awaits. What tells of the past changes segments in silence. */
const isPlain = ({ event }: Arrived): boolean =>
  event.contactProperties === null && !event.historical
