// Records many automation events of a workspace in one commit, in their order for each contact.

import { lockContactIds } from '../../db/contacts/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { inSavepoint, transact, undoIfRefused } from '../transact.ts'
import { ALONE, type Arrived, recordTogether } from './groups.ts'
import { type PostedEvent, type PostRefusal, toGroupedEvent } from './post.ts'
import {
  EventIdRace,
  type RecordDeps,
  type RecordedEvent,
  recordAutomationEvent,
} from './record.ts'

type Deps = Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>

/** Events that share statements. */
const WAVE_MAX = 100
/** Tries of a commit that lost a race for an event_id. The next try finds the recorded event. */
const TRIES = 3

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
  for (const [place, recorded] of await commitAll(
    { ...deps, now: () => now },
    workspaceId,
    arrived,
  ))
    results[place] = recorded
  return results
}

interface Placed extends Arrived {
  /** Its place in the request. */
  place: number
}

type Recorded = Map<number, RecordedEvent | PostRefusal>

async function commitAll(
  deps: Deps,
  workspaceId: WorkspaceId,
  arrived: readonly Placed[],
): Promise<Recorded> {
  for (let tries = 1; ; tries++) {
    try {
      return await transact(deps, (inTrx) => recordAll(inTrx, workspaceId, arrived))
    } catch (err) {
      if (!(err instanceof EventIdRace) || tries >= TRIES) throw err
    }
  }
}

async function recordAll(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  arrived: readonly Placed[],
): Promise<Recorded> {
  const emails = [...new Set(arrived.map(({ event }) => event.email))]
  // All at first, in the order of locks: waves take them in that of the request.
  await lockContactIds(deps.db, workspaceId, emails)
  const recorded: Recorded = new Map()
  for (let waiting = arrived; waiting.length > 0; ) {
    const { wave, rest } = nextWave(waiting)
    waiting = rest
    for (const one of await recordWave(deps, workspaceId, wave, recorded)) {
      recorded.set(one.place, await recordOne(deps, workspaceId, one))
    }
  }
  return recorded
}

/** The first ones that have no contact and no event_id in common, whether with each other or with one that they follow. */
function nextWave(waiting: readonly Placed[]): { wave: Placed[]; rest: Placed[] } {
  const [wave, rest]: [Placed[], Placed[]] = [[], []]
  const seen = new Set<string>()
  for (const one of waiting) {
    const { email, eventId } = one.event
    const keys = [`email ${email}`, ...(eventId === null ? [] : [`id ${eventId}`])]
    const isApart = wave.length < WAVE_MAX && !keys.some((key) => seen.has(key))
    for (const key of keys) seen.add(key)
    if (isApart) wave.push(one)
    else rest.push(one)
  }
  return { wave, rest }
}

/** Records a wave by the statements of one event. @returns those that go alone */
async function recordWave(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  wave: readonly Placed[],
  recorded: Recorded,
): Promise<readonly Placed[]> {
  if (wave.length === 1) return wave
  let results: Awaited<ReturnType<typeof recordTogether>> = []
  const isWritten = await inSavepoint(deps.db, async () => {
    results = await recordTogether(deps, workspaceId, wave)
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
