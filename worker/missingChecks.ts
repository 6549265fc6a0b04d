// Starts the checks of domains that an early release registered without any, as soon as Postgres can do it.
import { setTimeout as delay } from 'node:timers/promises'
import type { CommandDeps } from '../commands/deps.ts'
import { startMissingChecks } from '../commands/domains/startChecks.ts'
import type { Log } from '../runtime/log.ts'

const AGAIN_MS = 5_000

/**
 * Tries until it is done: a domain may be locked for long, or Postgres away, and neither may end a worker.
 * @param again_ms time between two tries
 * @returns `done` resolves after the try that succeeds, or `stop`
 */
export function startChecking(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'> & { log: Log },
  again_ms: number = AGAIN_MS,
): { done: Promise<void>; stop: () => Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const run = async () => {
    while (!signal.aborted) {
      try {
        return await startMissingChecks(deps)
      } catch (err) {
        deps.log.warn({ err }, 'missing checks of domains were not started; tried again')
      }
      await delay(again_ms, null, { signal }).catch(() => undefined)
    }
  }
  const done = run()
  return {
    done,
    stop() {
      stopping.abort()
      return done
    },
  }
}
