// Records many automation events of a workspace in one commit, in their order for each contact.

import { lockContactIds } from '../../db/contacts/writes.ts'
import { isLockTimeout } from '../../db/failures.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { splitApart } from '../../runtime/batcher.ts'
import type { CommandDeps } from '../deps.ts'
import { inSavepoint, transact, undoIfRefused } from '../transact.ts'
import { ALONE, type Arrived, isUnfit, keysOfArrived, recordTogether, Unfit } from './groups.ts'
import { type PostedEvent, type PostRefusal, toGroupedEvent } from './post.ts'
import {
  EventIdRace,
  type RecordDeps,
  type RecordedEvent,
  recordAutomationEvent,
  retryRace,
} from './record.ts'

type Deps = Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>

/** Events that share statements. */
const WAVE_MAX = 100

/**
 * Records those that are not refused, all in one commit. Events of one contact are recorded in the given order, and so are those
 * of one event_id: the second finds the first. Cannot run inside another transaction.
 * @returns what became of each, in order
 */
export async function postAutomationEvents(
  deps: Deps,
  workspaceId: WorkspaceId,
  inputs: readonly PostedEvent[],
): Promise<(RecordedEvent | PostRefusal)[]> {
  const now = deps.now()
  const results: (RecordedEvent | PostRefusal)[] = []
  const arrived: Placed[] = []
  for (const [place, input] of inputs.entries()) {
    const event = toGroupedEvent(input, now)
    if (isRefusal(event)) results[place] = event
    else arrived.push({ place, event, now })
  }
  if (arrived.length === 0) return results
  const each = { ...deps, now: () => now }
  const recorded =
    (await recordOneWave(each, workspaceId, arrived)) ??
    (await retryRace(() => transact(each, (inTrx) => recordAll(inTrx, workspaceId, arrived))))
  for (const [place, one] of recorded) results[place] = one
  return results
}

interface Placed extends Arrived {
  /** Its place in the request. */
  place: number
}

type RecordedByPlace = Map<number, RecordedEvent | PostRefusal>

/**
 * Commits events that share statements, if all do, in as few round trips as a group. @returns undefined: nothing was written, since some
 * come one after the other, or one of them is not recorded with the others
 */
async function recordOneWave(
  deps: Deps,
  workspaceId: WorkspaceId,
  arrived: readonly Placed[],
): Promise<RecordedByPlace | undefined> {
  const { taken: wave, left } = splitApart(arrived, WAVE_MAX, keysOfArrived)
  if (left.length > 0 || wave.length === 1) return undefined
  try {
    return await transact(deps, async (inTrx) => {
      const results = await recordTogether(inTrx, workspaceId, wave, 'wait')
      const recorded: RecordedByPlace = new Map()
      const left = wave.filter(({ place }, i) => {
        const result = results[i] ?? ALONE
        if (result !== ALONE) recorded.set(place, result)
        return result === ALONE
      })
      // All are locked first then, in their order, where one of them has large properties.
      if (left.length === wave.length) throw new Unfit('no event of the wave was written')
      // Whose contact was changed while this waited for it: it is locked now, so a statement that begins now sees it.
      const alone = left.length > 0 ? await recordWave(inTrx, workspaceId, left, recorded) : []
      for (const one of alone) recorded.set(one.place, await recordOne(inTrx, workspaceId, one))
      return recorded
    })
  } catch (err) {
    // A contact that somebody holds for so long would only be waited for again.
    if (isLockTimeout(err) || !(isUnfit(err) || err instanceof EventIdRace)) throw err
    return undefined
  }
}

async function recordAll(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  arrived: readonly Placed[],
): Promise<RecordedByPlace> {
  const emails = [...new Set(arrived.map(({ event }) => event.email))]
  // All at first, in the order of locks: waves take them in that of the request.
  await lockContactIds(deps.db, workspaceId, emails)
  const recorded: RecordedByPlace = new Map()
  for (let waiting = arrived; waiting.length > 0; ) {
    const { taken: wave, left } = splitApart(waiting, WAVE_MAX, keysOfArrived)
    waiting = left
    for (const one of await recordWave(deps, workspaceId, wave, recorded)) {
      recorded.set(one.place, await recordOne(deps, workspaceId, one))
    }
  }
  return recorded
}

/** Records a wave by the statements of one event. @returns those that go alone */
async function recordWave(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  wave: readonly Placed[],
  recorded: RecordedByPlace,
): Promise<readonly Placed[]> {
  if (wave.length === 1) return wave
  let results: Awaited<ReturnType<typeof recordTogether>> = []
  const isWritten = await inSavepoint(deps.db, async () => {
    results = await recordTogether(deps, workspaceId, wave, 'skip')
  })
  if (!isWritten) return wave
  return wave.filter(({ place }, i) => {
    const result = results[i]
    if (result === undefined || result === ALONE) return true
    recorded.set(place, result)
    return false
  })
}

async function recordOne(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  { event }: Placed,
): Promise<RecordedEvent | PostRefusal> {
  const result = await undoIfRefused(deps.db, () => recordAutomationEvent(deps, workspaceId, event))
  if (!result) throw new Error('an event for a contact that may be made was not recorded')
  return result
}
