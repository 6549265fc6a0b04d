// Keeps track of the deliveries that a lane has under way, and of how many more it may claim.

/** A delivery that takes longer than this waits for its destination and counts as slow. */
const QUICK_MS = 500

/**
 * Counts deliveries under way. Up to `slowMax` slow ones do not count towards `capacity`, so that a lane can go on
 * when most of its deliveries wait for servers that do not answer.
 */
export function createInFlight<T extends { id: number }>(
  { capacity, slowMax }: { capacity: number; slowMax: number },
  clock: () => number = () => performance.now(),
) {
  // In the order in which they started.
  const quick = new Map<number, { item: T; startedAt: number }>()
  const slow = new Map<number, T>()
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
        running.delete(done)
      })
      running.add(done)
      return done
    },
    /** How many more deliveries fit. */
    free(): number {
      sortOut()
      return Math.max(0, capacity - quick.size - Math.max(0, slow.size - slowMax))
    },
    items: (): T[] => [...[...quick.values()].map(({ item }) => item), ...slow.values()],
    /** Resolves when all deliveries that are under way now have ended. */
    settled: () => Promise.all(running),
  }
}
