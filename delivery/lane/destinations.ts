// Stores which destination the domains of recipients have, and moves their waiting mail into its lines.
import { transact } from '../../commands/transact.ts'
import { isUnavailable } from '../../db/failures.ts'
import { learnDestination, moveLines } from '../../db/recipient-domains/destinations.ts'
import { shardOf } from '../../rules/shard.ts'
import type { DeliveryDeps } from '../deps.ts'

/** The most domains that wait to be stored. Mail to a further one is sent all the same, from lines of its own, and tells it again. */
const WAITING_MAX = 5_000
/** A line may be a provider's: a move that reads it ends long before a statement runs out of time. */
const MOVE = { move: 500, perLine: 2_000, inAll: 10_000 }
/** The pause after a fault of the database. */
const AGAIN_MS = 5_000
/** How often a domain is tried whose faults are others than that the database is away. */
const TRIES = 4

type Deps = Pick<DeliveryDeps, 'db' | 'now' | 'wake' | 'log'>

/**
 * Makes the function that direct delivery calls with the destination of a domain when it has found a new one. It never
 * throws, and stores them one after the other. It returns false if too many wait: then it must be called again later.
 */
export function createDestinations(
  deps: Deps,
  { again_ms = AGAIN_MS, waitingMax = WAITING_MAX } = {},
): (domain: string, destination: string) => boolean {
  const waiting = new Map<string, { destination: string; faults: number }>()
  let isWorking = false

  const store = async (domain: string, destination: string) => {
    const to = { domain, destination, shard: shardOf(destination) }
    const before = await transact.one(deps, ({ db }) => learnDestination(db, to, deps.now()))
    // Also where it is known already: the process that learned it may have ended before it had moved everything.
    for (const stands of new Set([domain, before ?? domain])) {
      if (stands === destination) continue
      const from = { destination: stands, shard: shardOf(stands) }
      const move = () => transact.one(deps, ({ db }) => moveLines(db, from, to, MOVE))
      for (let count = MOVE.move; count === MOVE.move; ) {
        count = await move()
      }
    }
  }
  const work = async () => {
    isWorking = true
    for (const [domain, { destination, faults }] of waiting) {
      waiting.delete(domain)
      try {
        await store(domain, destination)
      } catch (err) {
        deps.log.warn({ err }, 'the destination of a domain was not stored')
        const again = { destination, faults: faults + (isUnavailable(err) ? 0 : 1) }
        if (again.faults >= TRIES) continue
        // What was found since is newer.
        if (!waiting.has(domain)) waiting.set(domain, again)
        await new Promise((resolve) => setTimeout(resolve, again_ms).unref())
      }
    }
    isWorking = false
  }

  return (domain, destination) => {
    if (waiting.size >= waitingMax && !waiting.has(domain)) return false
    waiting.set(domain, { destination, faults: 0 })
    if (!isWorking) void work()
    return true
  }
}
