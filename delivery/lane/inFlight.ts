// Keeps track of the deliveries that a lane has under way, and of how many more it may claim.

/** A delivery that takes longer than this waits for its destination and counts as slow. */
const QUICK_MS = 500
/**
 * Deliveries that were sent and wait for their settlement without a place: what is sent in some 100 ms. When Postgres is slow to settle,
 * a worker that is killed then leaves no more than these and its `capacity` of which nobody knows whether they were taken.
 */
export const SENT_MAX = 200

/**
 * Counts deliveries under way. Up to `slowMax` slow ones do not count towards `capacity`, so that a lane can go on
 * when most of its deliveries wait for servers that do not answer. The same holds for up to `sentMax` that were sent and wait for
 * their settlement: it may be gathered without keeping others from being composed.
 */
export function createInFlight<T extends { id: number }>(
  { capacity, slowMax, sentMax = 0 }: { capacity: number; slowMax: number; sentMax?: number },
  clock: () => number = () => performance.now(),
) {
  // In the order in which they started.
  const quick = new Map<number, { item: T; startedAt: number }>()
  const slow = new Map<number, T>()
  const sent = new Map<number, T>()
  const running = new Set<Promise<void>>()

  const sortOut = () => {
    const since = clock() - QUICK_MS
    for (const [id, { item, startedAt }] of quick) {
      if (startedAt > since) break
      quick.delete(id)
      slow.set(id, item)
    }
  }

  return {
    /** Runs `work`, which must not fail. */
    add(item: T, work: (item: T) => Promise<void>): Promise<void> {
      quick.set(item.id, { item, startedAt: clock() })
      const done = work(item).finally(() => {
        quick.delete(item.id)
        slow.delete(item.id)
        sent.delete(item.id)
        running.delete(done)
      })
      running.add(done)
      return done
    },
    /** A delivery was sent. @returns false if it counts until its work has ended, since too many others wait for their settlement */
    sent(item: T): boolean {
      if (sent.size >= sentMax) return false
      quick.delete(item.id)
      slow.delete(item.id)
      sent.set(item.id, item)
      return true
    },
    /** How many more deliveries fit. */
    free(): number {
      sortOut()
      return Math.max(0, capacity - quick.size - Math.max(0, slow.size - slowMax))
    },
    items: (): T[] => [
      ...[...quick.values()].map(({ item }) => item),
      ...slow.values(),
      ...sent.values(),
    ],
    /** Resolves when all deliveries that are under way now have ended. */
    settled: () => Promise.all(running),
  }
}
