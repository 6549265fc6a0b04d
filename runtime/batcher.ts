// Gathers what comes while a round trip is under way into the next one: one query or commit for many.
import { setTimeout as delay } from 'node:timers/promises'

/** A group as large as this was gathered from a stream: the next is worth a moment's wait. */
const STREAM_MIN = 4

/**
 * A function that runs `work` over groups of items, one group at a time. An item alone goes at once, and what arrives
 * meanwhile shares the next round trip.
 * @param work takes a group and gives a result for each item, in its order; when it throws, each item of it fails
 * @param gather_ms under load, how long a group waits for more
 */
export function createBatcher<T, R>(
  work: (items: T[]) => Promise<R[]>,
  maxItems: number,
  gather_ms = 0,
): (item: T) => Promise<R> {
  interface Waiting {
    item: T
    resolve: (result: R) => void
    reject: (err: unknown) => void
  }
  const waiting: Waiting[] = []
  let running = false

  const run = async () => {
    let last = 0
    while (waiting.length > 0) {
      if (gather_ms > 0 && last >= STREAM_MIN && waiting.length < maxItems) await delay(gather_ms)
      const group = waiting.splice(0, maxItems)
      last = group.length
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
