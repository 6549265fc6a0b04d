// Stores which destination the domains of recipients have, and moves their waiting mail into its lines.
import { transact } from '../../commands/transact.ts'
import { isUnavailable } from '../../db/failures.ts'
import { learnDestination, moveLines } from '../../db/recipient-domains/destinations.ts'
import { shardOf } from '../../rules/shard.ts'
import type { DeliveryDeps } from '../deps.ts'

/** The most domains that wait to be stored. Mail to a further one is sent all the same, from lines of its own. */
const WAITING_MAX = 5_000
/** A line may be a provider's: a move that reads it ends long before a statement runs out of time. */
const MOVE = { move: 500, perLine: 10_000, inAll: 50_000 }
/** The pause while the database is away. */
const AGAIN_MS = 5_000

type Deps = Pick<DeliveryDeps, 'db' | 'now' | 'wake' | 'log'>

/**
 * Makes the function that direct delivery calls with the destination of a domain when it has found a new one. It never
 * throws, and stores them one after the other.
 */
export function createDestinations(deps: Deps): (domain: string, destination: string) => void {
  const waiting = new Map<string, string>()
  let isWorking = false

  const store = async (domain: string, destination: string) => {
    const to = { domain, destination, shard: shardOf(destination) }
    const before = await transact.one(deps, ({ db }) => learnDestination(db, to, deps.now()))
    let moved = 0
    // Also where it is known already: the process that learned it may have ended before it had moved everything.
    for (const stands of new Set([domain, before ?? domain])) {
      if (stands === destination) continue
      const from = { destination: stands, shard: shardOf(stands) }
      const move = () => transact.one(deps, ({ db }) => moveLines(db, from, to, MOVE))
      for (let count = MOVE.move; count === MOVE.move; ) {
        count = await move()
        moved += count
      }
    }
    if (moved > 0) deps.wake('dripline_deliveries')
  }
  const work = async () => {
    isWorking = true
    for (const [domain, destination] of waiting) {
      waiting.delete(domain)
      try {
        await store(domain, destination)
      } catch (err) {
        deps.log.warn({ err }, 'the destination of a domain was not stored')
        if (!isUnavailable(err)) continue
        waiting.set(domain, destination)
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS).unref())
      }
    }
    isWorking = false
  }

  return (domain, destination) => {
    if (waiting.size >= WAITING_MAX) return
    waiting.set(domain, destination)
    if (!isWorking) void work()
  }
}
