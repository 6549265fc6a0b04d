// Deletes the answers that were kept for repeated requests, once they are too old to be given again.
import type { CommandDeps } from '../commands/deps.ts'
import { transact } from '../commands/transact.ts'
import { deleteOldAnswers } from '../db/idempotency-keys/writes.ts'
import { limits } from '../rules/limits.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'

const EVERY_MS = 60_000
/** Of one commit. */
const PAGE = 1_000

type Deps = Pick<CommandDeps, 'db' | 'now' | 'wake'>

/** Deletes all that are too old, a page in each commit. @returns how many */
export async function forgetAnswers(
  deps: Deps,
  isStopping: () => boolean = () => false,
): Promise<number> {
  const until = new Date(deps.now().getTime() - limits.idempotencyKeptMs)
  let count = 0
  for (;;) {
    const gone = await transact.one(deps, ({ db }) => deleteOldAnswers(db, { until, limit: PAGE }))
    count += gone
    if (gone < PAGE || isStopping()) return count
  }
}

/** Does so each minute; `stop` ends it. Any number of workers may do it. */
export function startForgettingAnswers(deps: Deps & { log: Log }): { stop: () => Promise<void> } {
  let isStopping = false
  const repeated = repeat({
    every_ms: EVERY_MS,
    work: () => forgetAnswers(deps, () => isStopping),
    onFailure: (err) => deps.log.warn({ err }, 'old answers were not deleted; tried again'),
  })
  return {
    stop() {
      isStopping = true
      return repeated.stop()
    },
  }
}
