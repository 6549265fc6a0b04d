// Gathers what comes while a round trip is under way into the next one: one query or commit for many.

/**
 * A function that runs `work` over groups of items, one group at a time. Nothing waits for a timer: an item alone
 * goes at once, and what arrives meanwhile shares the next round trip.
 * @param work takes a group and gives a result for each item, in its order; when it throws, each item of it fails
 */
export function createBatcher<T, R>(
  work: (items: T[]) => Promise<R[]>,
  maxItems: number,
): (item: T) => Promise<R> {
  interface Waiting {
    item: T
    resolve: (result: R) => void
    reject: (err: unknown) => void
  }
  const waiting: Waiting[] = []
  let running = false

  const run = async () => {
    running = true
    while (waiting.length > 0) {
      const group = waiting.splice(0, maxItems)
      try {
        const results = await work(group.map((w) => w.item))
        for (const [i, w] of group.entries()) w.resolve(results[i] as R)
      } catch (err) {
        for (const w of group) w.reject(err)
      }
    }
    running = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      // One turn of the loop lets items of the same turn share the first group.
      if (!running) {
        running = true
        setImmediate(() => void run())
      }
    })
}
