// Makes mail of a lane ready when its time has come.
import { transact } from '../../commands/transact.ts'
import type { LaneEpoch } from '../../db/deliveries/guards.ts'
import type { InLine, ShardRange } from '../../db/deliveries/lines.ts'
import { isAnyDue, readyDue } from '../../db/deliveries/ready.ts'
import type { DeliveryDeps } from '../deps.ts'

/** How often a lane looks for what has become due. */
export const READY_MS = 200
/** How much of each shard one statement makes ready. */
const READY_MAX = 50
/** The pause after a fault: while the database is away, five lines of the log a second say no more than one. */
const FAULT_MS = 2_000

/**
 * A look at all that is due passes what was made ready since a snapshot was taken that somebody holds open. So it comes as many
 * times later as it is long, up to a bound; looks between count what became due since, and so much before. What is put back with
 * the time that it had waits for a look at all.
 */
const WHOLE_REST = 20
const WHOLE_REST_MS_MAX = 30_000
const SINCE_MS = 5_000
/** Where the last look at all took longer, the next one keeps no connection of the claims, and passes the same entries once. */
const SLOW_LOOK_MS = 50

type Deps = Pick<DeliveryDeps, 'db' | 'claiming' | 'now' | 'wake' | 'config'>

/**
 * Makes the function that makes ready what is due, of all shards alike, until nothing more is. One call at a time works,
 * and none for two seconds after a fault, which it throws.
 * @param onReady called with what stands in line now
 * @param onFault called when something may stand there of which the answer has not come
 */
export function createReady(
  deps: Deps,
  { shards, owner }: { shards: ShardRange; owner: LaneEpoch },
  onReady: (rows: readonly InLine[]) => void,
  onFault: () => void,
) {
  let isWorking = false
  let restsUntil = 0
  /** Shards in which more was due than the last call took, and how far the turns between their workspaces are. */
  let crowded: ReadonlyMap<number, string> = new Map()
  /** All that was due before has been made ready. */
  let since: Date | undefined
  let wholeAt_ms = Number.NEGATIVE_INFINITY
  /** How long the last look at all took. */
  let whole_ms = 0

  const { isAny, makeReady } = createLooks(deps, { shards, owner })

  return async (): Promise<void> => {
    const began_ms = performance.now()
    if (isWorking || began_ms < restsUntil) return
    isWorking = true
    let isAsked = false
    try {
      const isWhole = began_ms >= wholeAt_ms
      const next = new Date(deps.now().getTime() - SINCE_MS)
      const from = isWhole ? undefined : since
      const isSlow = isWhole && whole_ms > SLOW_LOOK_MS
      let more = crowded.size > 0 || isSlow || (await isAny(from))
      let look_ms = performance.now() - began_ms
      while (more) {
        const asked_ms = performance.now()
        isAsked = true
        const found = await makeReady(from, crowded)
        // Of the last one alone: how long a backlog took says nothing of how long the next look takes.
        look_ms = performance.now() - asked_ms
        crowded = found.crowded
        more = crowded.size > 0
        if (found.rows.length > 0) onReady(found.rows)
      }
      since = next
      if (isWhole) {
        whole_ms = look_ms
        wholeAt_ms = performance.now() + Math.min(WHOLE_REST_MS_MAX, WHOLE_REST * look_ms)
      }
    } catch (err) {
      restsUntil = performance.now() + FAULT_MS
      if (isAsked) onFault()
      throw err
    } finally {
      isWorking = false
    }
  }
}

/** The short look whether any is due, and the long one that makes it ready. Both are at what became due after `from`, or at all. */
function createLooks(deps: Deps, { shards, owner }: { shards: ShardRange; owner: LaneEpoch }) {
  const isAny = (from: Date | undefined) =>
    transact.one({ ...deps, db: deps.claiming }, ({ db }) =>
      isAnyDue(db, { shards, now: deps.now(), since: from }),
    )
  const makeReady = (from: Date | undefined, crowded: ReadonlyMap<number, string>) =>
    transact.one(deps, async ({ db, wake }) => {
      const asked = { perShard: READY_MAX, rights: deps.config, crowded, owner }
      const { told, ...rest } = await readyDue(db, shards, deps.now(), {
        ...asked,
        ...(from ? { since: from } : {}),
      })
      if (told) wake('dripline_mail_events')
      return rest
    })
  return { isAny, makeReady }
}
