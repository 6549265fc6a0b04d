// Folds what is to be added to the statistics of mail into them, every second.
import type { CommandDeps } from '../commands/deps.ts'
import { transact } from '../commands/transact.ts'
import { foldEmailStats, lockFolding } from '../db/stats/fold.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'

const FOLD_EVERY_MS = 1_000
/** Of one commit. */
const PAGE = 5_000

type Deps = Pick<CommandDeps, 'db' | 'now' | 'wake'>

/** Folds all that there is, a page in each commit, unless somebody else does. @returns how many changes */
export async function foldAllEmailStats(
  deps: Deps,
  isStopping: () => boolean = () => false,
): Promise<number> {
  let count = 0
  for (;;) {
    const folded = await transact(deps, async ({ db }) =>
      (await lockFolding(db)) ? foldEmailStats(db, PAGE) : 0,
    )
    count += folded
    if (folded < PAGE || isStopping()) return count
  }
}

/** Any number of workers may do it; `stop` ends it after the page that it is at. */
export function startEmailStats(deps: Deps & { log: Log }): { stop: () => Promise<void> } {
  let isStopping = false
  const folding = repeat({
    every_ms: FOLD_EVERY_MS,
    work: () => foldAllEmailStats(deps, () => isStopping),
    onFailure: (err) => deps.log.warn({ err }, 'statistics of mail were not folded; tried again'),
  })
  return {
    stop() {
      isStopping = true
      return folding.stop()
    },
  }
}
