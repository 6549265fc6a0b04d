// Keeps a child running: reports why it ended, starts it again a few times, then gives up.
import { setTimeout as pause } from 'node:timers/promises'
import { type Child, isKillingAll, lastLines } from './processes.ts'

const RESTARTS_MAX = 5
/** A child that ran this long has recovered: its earlier failures no longer count. */
const STEADY_MS = 60_000
const BACKOFF_MS = 500
const LINES_SHOWN = 12

export interface SuperviseOptions {
  child: Child
  /** Starts it again; absent if everything must stop when it ends. */
  start?: () => Promise<Child>
  say: (line: string) => void
  /** Called once, when the child is not started again. */
  onGone: (reason: string) => void
}

export interface Supervised {
  /** Stops the child, with SIGKILL after `wait_ms`. It is not started again. */
  stop(options: { signals?: NodeJS.Signals[]; wait_ms: number }): Promise<void>
}

/** Watches a ready child. Restarts wait 0.5, 1, 2, 4 and 8 s. */
export function supervise({ child, start, say, onGone }: SuperviseOptions): Supervised {
  let current = child
  /** The start that is under way, or the last one. */
  let starting = Promise.resolve(child)
  let stopping = false

  async function watch(): Promise<void> {
    for (let failures = 1; ; failures++) {
      const begin = Date.now()
      const { code, signal } = await current.exited
      if (stopping || isKillingAll()) return
      if (Date.now() - begin > STEADY_MS) failures = 1
      const how = signal ? `by ${signal}` : `with code ${code}`
      const tail = lastLines(current.logFile, LINES_SHOWN).replace(/^/gm, '    ')
      say(`${current.name} ended ${how}; its last lines (${current.logFile}):\n${tail}`)
      if (!start) return onGone(`${current.name} ended ${how}`)
      if (failures > RESTARTS_MAX) return onGone(`${current.name} ended ${failures} times`)
      const wait_ms = BACKOFF_MS * 2 ** (failures - 1)
      say(`${current.name} starts again in ${wait_ms / 1000} s`)
      await pause(wait_ms)
      if (stopping) return
      starting = start()
      current = await starting
    }
  }

  watch().catch((err) => {
    if (!stopping) onGone(`${current.name} does not start again: ${err.message}`)
  })
  return {
    async stop(options) {
      stopping = true
      // A child that is just being started would outlive us; one that fails to start is gone already.
      const last = await starting.catch(() => current)
      await last.stop(options)
    },
  }
}
