// Counts within a minute, for bounds on what one client and all clients may ask for.

const WINDOW_MS = 60_000

/** Makes counters by name that all begin again at 0 a minute after the first count. */
export function createWindow(now: () => Date) {
  const counts = new Map<string, number>()
  let began = 0
  return {
    /** Adds to a counter. @returns what it has counted in this minute */
    add(name: string, amount = 1): number {
      const time = now().getTime()
      // A clock that was set back must not keep a full window closed.
      if (time < began || time - began >= WINDOW_MS) {
        counts.clear()
        began = time
      }
      const count = (counts.get(name) ?? 0) + amount
      counts.set(name, count)
      return count
    },
  }
}
