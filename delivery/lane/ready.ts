// Makes mail of a lane ready when its time has come.
import { transact } from '../../commands/transact.ts'
import type { LaneEpoch } from '../../db/deliveries/guards.ts'
import type { InLine, ShardRange } from '../../db/deliveries/lines.ts'
import { readyDue } from '../../db/deliveries/ready.ts'
import type { DeliveryDeps } from '../deps.ts'

/** How often a lane looks for what has become due. */
export const READY_MS = 200
/** How much of each shard one statement makes ready. */
const READY_MAX = 50
/** The pause after a fault: while the database is away, five lines of the log a second say no more than one. */
const FAULT_MS = 2_000

type Deps = Pick<DeliveryDeps, 'db' | 'now' | 'wake' | 'config'>

/**
 * Makes the function that makes ready what is due, of all shards alike, until nothing more is. One call at a time works,
 * and none for two seconds after a fault, which it throws.
 * @param onReady called with what stands in line now
 */
export function createReady(
  deps: Deps,
  { shards, owner }: { shards: ShardRange; owner: LaneEpoch },
  onReady: (rows: readonly InLine[]) => void,
) {
  let isWorking = false
  let restsUntil = 0
  /** Shards in which more was due than the last call took, and how far the turns between their workspaces are. */
  let crowded: ReadonlyMap<number, string> = new Map()
  return async (): Promise<void> => {
    if (isWorking || performance.now() < restsUntil) return
    isWorking = true
    try {
      for (let more = true; more; ) {
        const found = await transact.one(deps, async ({ db, wake }) => {
          const { told, ...rest } = await readyDue(db, shards, deps.now(), {
            perShard: READY_MAX,
            rights: deps.config,
            crowded,
            owner,
          })
          if (told) wake('dripline_mail_events')
          return rest
        })
        crowded = found.crowded
        more = crowded.size > 0
        if (found.rows.length > 0) onReady(found.rows)
      }
    } catch (err) {
      restsUntil = performance.now() + FAULT_MS
      throw err
    } finally {
      isWorking = false
    }
  }
}
