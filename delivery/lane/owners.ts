// The lanes that this process owns. Temporal starts owners; one that Temporal lost sight of goes on until somebody else
// has taken its lane.
import { createLimitBook } from '../../commands/limits/book.ts'
import { createDailyLimit } from '../../commands/limits/daily.ts'
import { createComposer } from '../compose/composer.ts'
import type { DeliveryDeps } from '../deps.ts'
import type { LanesShare } from './admission.ts'
import { createPlacedEmails } from './dayLimit.ts'
import type { Lane } from './ownership.ts'
import { type LaneRun, runLane } from './run.ts'

/** A lane that this process owns. */
export interface OwnedLane {
  /** Resolves when it claims no more. */
  ended: LaneRun['ended']
  /** The lane goes on, and the next owner may take it without cutting off what is under way here. */
  offer: () => Promise<void>
  /** Ends its claims and offers it; what is under way is finished meanwhile. */
  stop: () => Promise<void>
}

export type LaneOwners = ReturnType<typeof createLaneOwners>

/** Makes the set of lanes of this process; they share the memory for composed mail, and the places of a day. */
export function createLaneOwners(deps: DeliveryDeps) {
  const book = createLimitBook(deps, (err) => deps.log.warn({ err }, 'limits were not read'))
  const shared: LanesShare = {
    useEmail: createComposer(deps),
    daily: createDailyLimit(deps, book),
    placed: createPlacedEmails(),
  }
  const owned = new Map<number, OwnedLane>()
  const settling = new Set<Promise<void>>()

  /** Begins a run. One of the same lane before it in this process finishes what it has claimed. */
  async function begin(lane: Lane): Promise<OwnedLane> {
    const before = owned.get(lane.lane)
    await before?.offer()
    const stop = new AbortController()
    const { ended, settled, offer } = await runLane(deps, lane, stop.signal, shared)
    const settles = settled.finally(() => settling.delete(settles))
    settling.add(settles)
    const end = async () => {
      stop.abort()
      await ended
    }
    const one: OwnedLane = { ended, offer, stop: end }
    owned.set(lane.lane, one)
    void before?.stop()
    return one
  }

  return {
    /** Takes a lane and runs it until it is stopped or taken. @throws errors of the database */
    own: begin,
    /** Resolves when everything that these lanes claimed is settled or given back. Call it once the process stops. */
    async settled(): Promise<void> {
      while (settling.size > 0) await Promise.all(settling)
    },
  }
}
