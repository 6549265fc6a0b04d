// Lets events of one workspace that are posted at the same time share their round trips and their commit.

import { LRUCache } from 'lru-cache'
import { insertEventGroup, type OnHeldContacts } from '../../db/events/groupWrites.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal, type Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { grouped } from '../grouped.ts'
import { currentHeldCommit } from '../heldCommit.ts'
import { transact } from '../transact.ts'
import {
  ALONE,
  type Arrived,
  type GroupedEvent,
  isUnfit,
  keysOfArrived,
  makeRows,
  Unfit,
} from './arrived.ts'
import {
  type RecordDeps,
  type RecordedEvent,
  recordAutomationEvent,
  recordStored,
  retryRace,
} from './record.ts'
import { noteRecorded, recordUnawaited } from './unawaited.ts'

type Deps = Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>

/** Events of one commit. */
const GROUP_MAX = 50
/** Names of all workspaces that are remembered; an event of one that is forgotten costs the group that it shares some statements. */
const STARTING_MAX = 10_000
/** Longer JSON of one event goes to Postgres alone, so that it delays no others. */
const JSON_LENGTH_MAX = 20_000

type Recorded = RecordedEvent | Refusal<'contact_properties_refused' | 'event_id_reused'>

export interface EventGroups {
  /**
   * Commits an event as `recordAutomationEvent` does.
   * @param now when it came
   * @throws what its own statements throw: the fault of another event of the group is not passed on
   */
  record(workspaceId: WorkspaceId, event: GroupedEvent, now: Date): Promise<Recorded>
}

/**
 * The first event goes at once; those that come while its commit is under way share the next one. One group has one event of a
 * contact and of an event_id at most: what one does the next one meets. An event goes alone whose contact is held by somebody
 * else or was changed at that moment, so no other waits for that contact, one whose event_id was recorded before, and one that may start or
 * wake something and whose contact has large properties. All go alone when one of them is refused, or when Postgres refuses the group.
 *
 * Events that start executions, as far as the last one of their name did, have groups of their own: starting takes more statements,
 * which the others need not wait for.
 */
export function createEventGroups(deps: Deps): EventGroups {
  const createGroups = () =>
    grouped(
      (workspaceId, group: Arrived[]) => recordGroup(deps, workspaceId, group),
      GROUP_MAX,
      keysOfArrived,
    )
  const ofStarting = createGroups()
  const ofOthers = createGroups()
  /** Workspaces and names of events of which the last one started executions. */
  const starting = new LRUCache<string, true>({ max: STARTING_MAX })
  /** By workspace and key: the groups in which events with it wait or are under way, so that they keep their order. */
  const ofKeys = new Map<string, { record: typeof ofOthers; count: number }>()

  /** Shares a commit with other events, or finds that the event goes alone. */
  const recordShared = async (workspaceId: WorkspaceId, arrived: Arrived, isStarting: boolean) => {
    const keys = keysOfArrived(arrived).map((key) => `${workspaceId} ${key}`)
    const before = keys.map((key) => ofKeys.get(key)).find((found) => found !== undefined)
    const record = before?.record ?? (isStarting ? ofStarting : ofOthers)
    for (const key of keys) {
      const own = ofKeys.get(key)
      if (own) own.count += 1
      else ofKeys.set(key, { record, count: 1 })
    }
    try {
      return await record(workspaceId, arrived)
    } finally {
      for (const key of keys) {
        const own = ofKeys.get(key)
        if (own && own.count > 1) own.count -= 1
        else ofKeys.delete(key)
      }
    }
  }

  return {
    async record(workspaceId, event, now) {
      const name = `${workspaceId} ${event.eventName}`
      // One whose answer is stored with it has a commit of its own.
      const mayShare = isSmall(event) && !currentHeldCommit()
      const shared = mayShare
        ? await recordShared(workspaceId, { event, now }, starting.has(name))
        : ALONE
      const recorded =
        shared === ALONE ? await recordAlone(deps, workspaceId, { event, now }) : shared
      if (!isRefusal(recorded) && recorded.executionIds.length > 0) starting.set(name, true)
      else starting.delete(name)
      return recorded
    },
  }
}

const isSmall = ({ properties, contactProperties }: GroupedEvent): boolean =>
  JSON.stringify([properties, contactProperties]).length <= JSON_LENGTH_MAX

/** Commits a group. @returns what each was recorded as, in order, or that it goes alone */
async function recordGroup(
  deps: Deps,
  workspaceId: WorkspaceId,
  group: Arrived[],
): Promise<(RecordedEvent | typeof ALONE)[]> {
  try {
    return (
      (await recordUnawaited(deps, workspaceId, group, 'skip')) ??
      (await transact(deps, (inTrx) => recordTogether(inTrx, workspaceId, group, 'skip')))
    )
  } catch (error) {
    if (isUnfit(error)) return group.map(() => ALONE)
    // Whether it was committed may be unknown: an event without an event_id would be recorded twice.
    throw error
  }
}

/**
 * Records events by the statements of one, no two of the same contact or event_id, and notes the names of those that start and wake
 * nothing (`noteRecorded`), also where the caller rolls back: the guard looks again at each later event of such a name.
 * @returns what each was recorded as, in order, or that it goes alone
 * @throws Error if one of them is refused, or its event_id is recorded by somebody else meanwhile: then all of it is to be rolled back
 */
export async function recordTogether(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  group: readonly Arrived[],
  onHeld: OnHeldContacts,
): Promise<(RecordedEvent | typeof ALONE)[]> {
  const made = makeRows(deps, workspaceId, group)
  const stored = await insertEventGroup(
    deps.db,
    workspaceId,
    made.map(({ row }) => row),
    onHeld,
  )
  const arrivals = made.map(({ event, now, row }, place) => {
    const found = stored[place]
    if (!found) return null
    const { contact_id, properties, first_seen: firstSeen, is_new: isNew } = found
    const { id, event_id: eventId } = row
    return { event, now, id, eventId, contact: { id: contact_id, properties, firstSeen, isNew } }
  })
  const recorded = await recordStored(
    deps,
    workspaceId,
    arrivals.filter((arrival) => arrival !== null),
  )
  let next = 0
  return arrivals.map((arrival, place) => {
    const one = arrival ? recorded[next++] : ALONE
    if (one === undefined || isRefusal(one)) throw new Unfit('an event of the group is refused')
    const arrived = group[place]
    if (one !== ALONE && arrived) noteRecorded(workspaceId, arrived, one)
    return one
  })
}

/** Commits one event, and waits for its contact if somebody holds it. */
async function recordAlone(
  deps: Deps,
  workspaceId: WorkspaceId,
  { event, now }: Arrived,
): Promise<Recorded> {
  const recorded = await retryRace(() =>
    transact({ ...deps, now: () => now }, (inTrx) =>
      recordAutomationEvent(inTrx, workspaceId, event),
    ),
  )
  if (!recorded) throw new Error('an event for a contact that may be made was not recorded')
  noteRecorded(workspaceId, { event, now }, recorded)
  return recorded
}
