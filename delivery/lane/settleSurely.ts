// Writes the outcomes of attempts, in groups, and tries again for as long as Postgres does not take them.
import { setTimeout as delay } from 'node:timers/promises'
import type { Settlement } from '../../db/deliveries/settle.ts'
import { dataFaultOf, isPassing } from '../../db/failures.ts'
import { createBatcher } from '../../runtime/batcher.ts'
import type { DeliveryDeps } from '../deps.ts'
import { passPoint } from '../points.ts'
import { writeGroupOrEach } from '../writeGroupOrEach.ts'
import { settle } from './settle.ts'

const GROUP_MAX = 500
/** How often one that Postgres refuses for its data is written: it is refused again, unless that came of a race. */
const REFUSED_TRIES = 5
/** How long settlements are gathered under load; a single one is written at once. */
const SETTLE_GATHER_MS = 25
const SETTLE_PAUSE_MS = 500
const SETTLE_PAUSE_MS_MAX = 2_000

/** The outcomes that a lane has to write. */
export interface Outcomes {
  /** Aborted when the process waits for them no longer. */
  late: AbortSignal
  /** The deliveries of those that Postgres did not take, and may take later. */
  unwritten: Set<number>
}

/** Makes the function that writes the settlement of a delivery that has this lease. */
export const createSettler = (deps: DeliveryDeps, leaseToken: string, outcomes: Outcomes) =>
  createSureWriter<Settlement>(deps, outcomes, (group) => settle(deps, group, leaseToken))

/**
 * Makes the function that writes an outcome. Only this process knows it, and what is not written is sent twice or reads as delivered when its
 * lease has ended. So it tries until the process ends, whatever Postgres says but that the data cannot be stored.
 * @param write writes a group in one commit, and may be repeated
 */
export function createSureWriter<T extends { id: number }>(
  { log }: Pick<DeliveryDeps, 'log'>,
  { late, unwritten }: Outcomes,
  write: (group: T[]) => Promise<void>,
) {
  // No SMTP session waits for a settlement, so gathering them is free; small groups cost Postgres more than large
  // ones.
  const writeGrouped = createBatcher(
    (group: T[]): Promise<unknown[]> => {
      for (const { id } of group) passPoint('settle', id)
      return writeGroupOrEach(group, write)
    },
    GROUP_MAX,
    { gather_ms: SETTLE_GATHER_MS },
  )
  /** @throws what Postgres says, where it will not take it or this process has waited long enough */
  const untilWritten = async (outcome: T): Promise<void> => {
    const { id } = outcome
    for (let tries = 1; ; tries++) {
      const fault = await writeGrouped(outcome)
      if (fault === undefined) return
      const isOver = late.aborted || (dataFaultOf(fault) !== null && tries >= REFUSED_TRIES)
      if (isOver) throw fault
      if (isPassing(fault)) unwritten.add(id)
      else unwritten.delete(id)
      log.warn({ err: fault, delivery_id: id }, 'an outcome was not written; trying again')
      await delay(Math.min(SETTLE_PAUSE_MS * tries, SETTLE_PAUSE_MS_MAX))
    }
  }
  return async (outcome: T): Promise<void> => {
    try {
      await untilWritten(outcome)
      passPoint('settled', outcome.id)
    } finally {
      unwritten.delete(outcome.id)
    }
  }
}
