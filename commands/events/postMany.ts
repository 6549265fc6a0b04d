// Records many automation events of a workspace in one commit, in their order for each contact.

import { isLockTimeout } from '../../db/failures.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { splitApart } from '../../runtime/batcher.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { ALONE, isUnfit, keysOfArrived, Unfit } from './arrived.ts'
import { recordTogether } from './groups.ts'
import { type PostedEvent, type PostRefusal, toGroupedEvent } from './post.ts'
import { EventIdRace, type RecordedEvent, retryRace } from './record.ts'
import { recordUnawaited } from './unawaited.ts'
import {
  type Placed,
  type RecordedOrRefused,
  recordInWaves,
  recordOne,
  recordWave,
  WAVE_MAX,
} from './waves.ts'

type Deps = Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>

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
    (await retryRace(() => transact(each, (inTrx) => recordInWaves(inTrx, workspaceId, arrived))))
  for (const [place, one] of recorded) results[place] = one
  return results
}

type RecordedByPlace = Map<number, RecordedOrRefused>

/** What each of a wave was recorded as, by its place in the request; those that go alone are left out. */
function byPlace(
  wave: readonly Placed[],
  results: readonly (RecordedEvent | typeof ALONE)[],
): RecordedByPlace {
  const recorded: RecordedByPlace = new Map()
  for (const [i, { place }] of wave.entries()) {
    const result = results[i] ?? ALONE
    if (result !== ALONE) recorded.set(place, result)
  }
  return recorded
}

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
    const all = await recordUnawaited(deps, workspaceId, wave, 'wait')
    if (all) return byPlace(wave, all)
    return await transact(deps, async (inTrx) => {
      const recorded = byPlace(wave, await recordTogether(inTrx, workspaceId, wave, 'wait'))
      const left = wave.filter(({ place }) => !recorded.has(place))
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
