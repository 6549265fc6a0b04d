// Folds what is to be added to the statistics of mail into them, every second, and deletes those of long ago.
import type { CommandDeps } from '../commands/deps.ts'
import { transact } from '../commands/transact.ts'
import { deleteOldEmailStats, foldEmailStats, lockFolding } from '../db/stats/fold.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'

const FOLD_EVERY_MS = 1_000
const DELETE_EVERY_MS = 60_000
/** Of one commit. */
const PAGE = 5_000
const DAY_MS = 24 * 60 * 60 * 1000

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

/** Deletes what is older than so many days, a page in each commit. @returns how many rows */
export async function forgetEmailStats(
  deps: Deps,
  days: number,
  isStopping: () => boolean = () => false,
): Promise<number> {
  const before = new Date(deps.now().getTime() - days * DAY_MS)
  let count = 0
  for (;;) {
    const gone = await transact.one(deps, ({ db }) =>
      deleteOldEmailStats(db, { before, limit: PAGE }),
    )
    count += gone
    if (gone === 0 || isStopping()) return count
  }
}

/** Any number of workers may do it; `stop` ends it after the page that it is at. Neither part waits for the other. */
export function startEmailStats(deps: Deps & { log: Log; statsRetentionDays: number }): {
  stop: () => Promise<void>
} {
  let isStopping = false
  const { log } = deps
  const folding = repeat({
    every_ms: FOLD_EVERY_MS,
    work: () => foldAllEmailStats(deps, () => isStopping),
    onFailure: (err) => log.warn({ err }, 'statistics of mail were not folded; tried again'),
  })
  const forgetting = repeat({
    every_ms: DELETE_EVERY_MS,
    work: () => forgetEmailStats(deps, deps.statsRetentionDays, () => isStopping),
    onFailure: (err) => log.warn({ err }, 'old statistics were not deleted; tried again'),
  })
  return {
    async stop() {
      isStopping = true
      await Promise.all([folding.stop(), forgetting.stop()])
    },
  }
}
