// Records events that start and wake nothing, which most do, in one round trip.
import type { OnHeldContacts } from '../../db/events/groupWrites.ts'
import { insertUnawaitedGroup } from '../../db/events/unawaited.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal, type Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { currentHeldCommit } from '../heldCommit.ts'
import { transact } from '../transact.ts'
import { ALONE, type Arrived, makeRows } from './arrived.ts'
import { areQuiet, noteAwaited, noteQuiet } from './quietNames.ts'
import { type RecordedEvent, toNewlyRecorded } from './record.ts'

const NOTHING = { executionIds: [], isAwaited: false }

type Deps = Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>

/**
 * Commits events, no two of the same contact or event_id, if they start and wake nothing. It is tried where all of their names are quiet
 * (quietNames.ts): `noteRecorded` notes these.
 * @param onHeld `skip`: events whose contacts somebody holds go alone; `wait`: all are recorded or none
 * @returns what each was recorded as, in order, or that it goes alone; undefined: nothing was written, and they are to be recorded in
 * more steps, since one of them may start or wake something, or cannot be written with the others
 * @throws as `insertUnawaitedGroup` does: nothing was written
 */
export async function recordUnawaited(
  deps: Deps,
  workspaceId: WorkspaceId,
  group: readonly Arrived[],
  onHeld: OnHeldContacts,
): Promise<(RecordedEvent | typeof ALONE)[] | undefined> {
  // The answer of a request with an Idempotency-Key is stored in its transaction, which a statement with a guard cannot be part of.
  if (currentHeldCommit() || !group.every(mayBeUnawaited)) return undefined
  if (!areQuiet(workspaceId, group)) return undefined
  const made = makeRows(deps, workspaceId, group)
  const written = await transact.one(deps, ({ db }) =>
    insertUnawaitedGroup(
      db,
      workspaceId,
      made.map(({ row }) => row),
      onHeld,
    ),
  )
  if (written === 'awaited') noteAwaited(workspaceId, group)
  // That not all could be written says nothing of their names: the next events of these are tried so again.
  if (written === 'awaited' || written === 'not_all') return undefined
  return made.map(({ event, now, row: { id, event_id: eventId } }, place) => {
    const contactId = written[place]
    return contactId ? toNewlyRecorded({ event, now, id, eventId }, contactId, NOTHING) : ALONE
  })
}

/**
 * Whether the guard finds all that may follow from an event. It does not for one with contact properties, which changes its contact, nor
 * for one that tells of the past, which moves its contact in and out of segments without a word.
 */
const mayBeUnawaited = ({ event }: Arrived): boolean =>
  event.contactProperties === null && !event.historical

/**
 * Notes the name of an event that was recorded in more steps, if nothing started or woke by it. Of one that was recorded before nobody has
 * looked what awaits it.
 */
export function noteRecorded(
  workspaceId: WorkspaceId,
  arrived: Arrived,
  recorded: RecordedEvent | Refusal,
): void {
  if (isRefusal(recorded) || recorded.deduplicated || recorded.isAwaited) return
  if (mayBeUnawaited(arrived)) noteQuiet(workspaceId, arrived)
}
