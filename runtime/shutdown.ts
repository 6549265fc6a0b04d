// Stops a process in the reverse order of its start, once, on SIGTERM or SIGINT.
import type { Log } from './log.ts'

type Close = () => Promise<unknown> | unknown

/** Collects functions that close parts. `close()` calls them in reverse order and logs every failure. */
export function createClosers(log: Log) {
  const closers: [name: string, close: Close][] = []
  return {
    add(name: string, close: Close) {
      closers.push([name, close])
    },
    /** Like `add`, for a part that begins to close as soon as `stopping` is aborted, beside those that are closed before it. */
    addEarly(name: string, close: Close, stopping: AbortSignal) {
      let closed: Promise<unknown> | undefined
      const once = () => {
        closed ??= Promise.resolve(close())
        return closed
      }
      // What fails is logged at its turn.
      stopping.addEventListener('abort', () => void once().catch(() => undefined))
      closers.push([name, once])
    },
    async close() {
      for (const [name, close] of closers.splice(0).reverse()) {
        try {
          await close()
        } catch (err) {
          log.error({ err, part: name }, 'part did not close cleanly')
        }
      }
    },
  }
}

/** Resolves with the first signal that asks the process to stop. */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal))
  })
}
