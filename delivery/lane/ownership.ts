// Owns a lane by its row in Postgres: takes it, says every two seconds that it lives, and notices when a newer owner
// has taken it.
import { hostname } from 'node:os'
import { transact } from '../../commands/transact.ts'
import type { LaneEpoch } from '../../db/deliveries/guards.ts'
import { offerLane, renewLane, takeLane } from '../../db/lanes/writes.ts'
import type { DeliveryDeps } from '../deps.ts'
import { laneShards } from './shards.ts'

/** How often the owner says that it lives, and looks whether the lane is still its own. */
const RENEW_MS = 2_000
/**
 * An owner that has not said so for this time does not count any more when lanes of two counts are told apart
 * (`findLaneCount`).
 */
const SILENT_MS = 10_000

/** The number of a lane (from 0) and the count of lanes, which together own all shards. */
export interface Lane {
  lane: number
  lanes: number
}

export interface Ownership {
  epoch: LaneEpoch
  /** Aborted when a newer owner has the lane: this one claims nothing more. */
  lost: AbortSignal
  /** Looks now. */
  look: () => Promise<void>
  /** Lets the next owner take the lane without cutting off what is under way. It stays ours until then. */
  offer: () => Promise<void>
  /** Ends the looks. */
  end: () => void
}

type Deps = Pick<DeliveryDeps, 'db' | 'now' | 'wake' | 'log'>

/** Takes a lane from whoever has it. @throws errors of the database */
export async function own(deps: Deps, { lane, lanes }: Lane): Promise<Ownership> {
  const { log, now } = deps
  const until = () => new Date(now().getTime() + SILENT_MS)
  const owner = `${process.pid}@${hostname()}`
  const epoch = await transact(deps, ({ db }) =>
    takeLane(db, { lane, lanes, ...laneShards(lane, lanes), owner, until: until() }),
  )
  const lost = new AbortController()
  const quietly = async (what: string, work: () => Promise<void>) => {
    try {
      await work()
    } catch (err) {
      log.warn({ err, lane }, `a lane's row could not be ${what}; the lane goes on`)
    }
  }
  const renew = async () => {
    if (await transact.one(deps, ({ db }) => renewLane(db, epoch, until()))) return
    if (!lost.signal.aborted) log.warn({ ...epoch }, 'a newer owner has the lane')
    lost.abort()
  }
  let looking: Promise<void> | undefined
  // One at a time: while Postgres does not answer, each would take one more connection.
  const look = () => {
    looking ??= quietly('renewed', renew).finally(() => {
      looking = undefined
    })
    return looking
  }
  const timer = setInterval(() => void look(), RENEW_MS)
  log.info({ ...epoch, lanes }, 'the lane has this owner now')
  return {
    epoch,
    lost: lost.signal,
    look,
    offer: () => quietly('offered', () => transact.one(deps, ({ db }) => offerLane(db, epoch))),
    end: () => clearInterval(timer),
  }
}
