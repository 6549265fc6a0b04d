// Writes the outcomes of attempts, in groups, and tries again for as long as Postgres does not take them.
import { setTimeout as delay } from 'node:timers/promises'
import type { Settlement } from '../../db/deliveries/settle.ts'
import { isPassing } from '../../db/failures.ts'
import { createBatcher } from '../../runtime/batcher.ts'
import type { DeliveryDeps } from '../deps.ts'
import { passPoint } from '../points.ts'
import { writeGroupOrEach } from '../writeGroupOrEach.ts'
import type { Outcomes } from './outcomes.ts'
import { settle } from './settle.ts'

const GROUP_MAX = 500
/** How often Postgres may refuse one for what it is, by itself: then it will again, unless that came of a race. */
const REFUSED_MAX = 5
/** How long settlements are gathered under load; a single one is written at once. */
const SETTLE_GATHER_MS = 25
const SETTLE_PAUSE_MS = 500
const SETTLE_PAUSE_MS_MAX = 2_000
/** The pause for one that is held, at first and after the time of a stop: nearly always by what extends its lease, which takes some milliseconds. */
const HELD_PAUSE_MS = 50

/** What keeps an outcome from being written whose delivery somebody holds. */
class Held extends Error {
  constructor() {
    super('somebody holds the delivery')
  }
}

/** Makes the function that writes the settlement of a delivery that has this lease. */
export const createSettler = (deps: DeliveryDeps, leaseToken: string, outcomes: Outcomes) =>
  createSureWriter<Settlement>(deps, outcomes, (group) => settle(deps, group, leaseToken))

/**
 * Makes the function that writes an outcome. Only this process knows it, and what is not written is sent twice or reads as delivered when its
 * lease has ended. So it tries until the process ends, whatever Postgres says but that it refuses this one. It throws what Postgres says,
 * where it will not take it or this process has waited long enough, which is longer for a delivery that somebody holds.
 * @param write writes a group in one commit, and may be repeated. It passes over those that somebody holds, and gives their ids
 */
export function createSureWriter<T extends { id: number }>(
  { log }: Pick<DeliveryDeps, 'log'>,
  outcomes: Outcomes,
  write: (group: T[]) => Promise<ReadonlySet<number>>,
) {
  const { late, over } = outcomes
  const writeFirst = createGroups(write)
  // What was refused shares no group with what was not, which would wait for it.
  const writeAgain = createGroups(write)
  const untilWritten = async (outcome: T): Promise<void> => {
    const { id } = outcome
    let refused = 0
    for (let tries = 1; ; tries++) {
      const fault = await (tries === 1 ? writeFirst : writeAgain)(outcome)
      if (fault === undefined) return passPoint('settled', id)
      const isHeld = fault instanceof Held
      if (!isHeld && !isPassing(fault)) refused += 1
      if ((isHeld ? over : late).aborted || refused >= REFUSED_MAX) throw fault
      outcomes.note(id, fault)
      const isShort = isHeld && (tries === 1 || late.aborted)
      if (!isShort)
        log.warn({ err: fault, delivery_id: id }, 'an outcome was not written; trying again')
      const pause_ms = isShort
        ? HELD_PAUSE_MS
        : Math.min(SETTLE_PAUSE_MS * tries, SETTLE_PAUSE_MS_MAX)
      // A last try is made when the time of a stop is over, and more of them while somebody holds the delivery.
      const signal = late.aborted ? over : late
      await delay(pause_ms, undefined, { signal }).catch(() => {})
    }
  }
  return (outcome: T): Promise<void> => outcomes.add(outcome.id, untilWritten(outcome))
}

/**
 * Makes the function that writes one with others. No SMTP session waits for a settlement, so gathering them is free; small groups cost
 * Postgres more than large ones. @returns what has kept it from being written
 */
function createGroups<T extends { id: number }>(
  write: (group: T[]) => Promise<ReadonlySet<number>>,
): (one: T) => Promise<unknown> {
  return createBatcher(
    async (group: T[]): Promise<unknown[]> => {
      for (const { id } of group) passPoint('settle', id)
      const held = new Set<number>()
      const faults = await writeGroupOrEach(group, async (some) => {
        for (const id of await write(some)) held.add(id)
      })
      return group.map(({ id }, i) => (held.has(id) ? new Held() : faults[i]))
    },
    GROUP_MAX,
    { gather_ms: SETTLE_GATHER_MS },
  )
}
