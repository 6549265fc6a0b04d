// Writes the outcomes of attempts, in groups, and tries again while the database is away.
import type { Settlement } from '../../db/deliveries/settle.ts'
import { isUnavailable } from '../../db/failures.ts'
import { createBatcher } from '../../runtime/batcher.ts'
import type { DeliveryDeps } from '../deps.ts'
import { passPoint } from '../points.ts'
import { writeGroupOrEach } from '../writeGroupOrEach.ts'
import { settle } from './settle.ts'

const GROUP_MAX = 500
const SETTLE_TRIES = 5
/** How long settlements are gathered under load; a single one is written at once. */
const SETTLE_GATHER_MS = 25
const SETTLE_PAUSE_MS = 500
const SETTLE_PAUSE_MS_MAX = 2_000

/** Makes the function that writes the settlement of a delivery that has this lease. */
export const createSettler = (deps: DeliveryDeps, leaseToken: string) =>
  createSureWriter<Settlement>(deps, (group) => settle(deps, group, leaseToken))

/**
 * Makes the function that writes an outcome. Only this process knows it, so it tries for as long as the database
 * is away.
 * @param write writes a group in one commit, and may be repeated
 */
export function createSureWriter<T extends { id: number }>(
  deps: Pick<DeliveryDeps, 'log' | 'stopping'>,
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
  return async (outcome: T): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        const fault = await writeGrouped(outcome)
        if (fault !== undefined) throw fault
        passPoint('settled', outcome.id)
        return
      } catch (err) {
        const away = isUnavailable(err) && !deps.stopping.aborted
        if (tries >= SETTLE_TRIES && !away) throw err
        deps.log.warn({ err, delivery_id: outcome.id }, 'an outcome was not written; trying again')
        const pause_ms = Math.min(SETTLE_PAUSE_MS * tries, SETTLE_PAUSE_MS_MAX)
        await new Promise((resolve) => setTimeout(resolve, pause_ms))
      }
    }
  }
}
