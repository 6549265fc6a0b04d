// Records automation events of many contacts in the caller's transaction, by statements that they share.

import { lockContactIds } from '../../db/contacts/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Refusal } from '../../rules/refusals.ts'
import { splitApart } from '../../runtime/batcher.ts'
import { inSavepoint, undoIfRefused } from '../transact.ts'
import { ALONE, type Arrived, keysOfArrived } from './arrived.ts'
import { recordTogether } from './groups.ts'
import { type RecordDeps, type RecordedEvent, recordAutomationEvent } from './record.ts'
import { noteRecorded } from './unawaited.ts'

/** Events that share statements. */
export const WAVE_MAX = 100

/** An event of several. */
export interface Placed extends Arrived {
  /** Its place among them. */
  place: number
}

export type RecordedOrRefused =
  | RecordedEvent
  | Refusal<'contact_properties_refused' | 'event_id_reused'>

/**
 * Records events; those of one contact, and those of one event_id, in the given order.
 * @returns what became of each, by its place
 * @throws EventIdRace
 */
export async function recordInWaves(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  arrived: readonly Placed[],
): Promise<Map<number, RecordedOrRefused>> {
  const emails = [...new Set(arrived.map(({ event }) => event.email))]
  // All at first, in the order of locks: waves take them in that of the request.
  await lockContactIds(deps.db, workspaceId, emails)
  const recorded: Map<number, RecordedOrRefused> = new Map()
  for (let waiting = arrived; waiting.length > 0; ) {
    const { taken: wave, left } = splitApart(waiting, WAVE_MAX, keysOfArrived)
    waiting = left
    for (const one of await recordWave(deps, workspaceId, wave, recorded)) {
      recorded.set(one.place, await recordOne(deps, workspaceId, one))
    }
  }
  return recorded
}

/** Records a wave by the statements of one event. @param recorded gets what became of them @returns those that go alone */
export async function recordWave(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  wave: readonly Placed[],
  recorded: Map<number, RecordedOrRefused>,
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

/** Records an event alone; one that is refused writes nothing. */
export async function recordOne(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  placed: Placed,
): Promise<RecordedOrRefused> {
  const result = await undoIfRefused(deps.db, () =>
    recordAutomationEvent(deps, workspaceId, placed.event),
  )
  if (!result) throw new Error('an event for a contact that may be made was not recorded')
  noteRecorded(workspaceId, placed, result)
  return result
}
