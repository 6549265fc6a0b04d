// What a lane has under way, and how much more it may take.

/** What takes longer is waiting for its destination, not for us. */
const QUICK_MS = 500

/**
 * Counts deliveries under way. One that takes long no longer stands in the way of others: up to `slowMax` of those do
 * not count, so that a lane goes on when most of what it claimed goes to servers that do not answer.
 */
export function createInFlight<T extends { id: number }>(
  { capacity, slowMax }: { capacity: number; slowMax: number },
  clock: () => number = () => performance.now(),
) {
  // In the order in which they began.
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
    /** Places for more. */
    free(): number {
      sortOut()
      return Math.max(0, capacity - quick.size - Math.max(0, slow.size - slowMax))
    },
    items: (): T[] => [...[...quick.values()].map(({ item }) => item), ...slow.values()],
    /** Resolves when all that is under way now has ended. */
    settled: () => Promise.all(running),
  }
}
