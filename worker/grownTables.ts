// Analyzes tables that have grown, every few seconds.
import type { CommandDeps } from '../commands/deps.ts'
import { transact } from '../commands/transact.ts'
import { analyze, listGrown } from '../db/grownTables.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'

const EVERY_MS = 5_000
/** How long a table rests that could not be analyzed. */
const REST_MS = 600_000

type Deps = Pick<CommandDeps, 'db' | 'now' | 'wake'> & { log: Log }

/** Makes a round: analyzes each table that has grown, until `isStopping`. One that fails rests, and holds up no other. */
export function createAnalyzing(deps: Deps, isStopping: () => boolean): () => Promise<void> {
  const restsUntil = new Map<string, number>()
  return async () => {
    const at = deps.now().getTime()
    for (const table of await transact.one(deps, ({ db }) => listGrown(db))) {
      if (isStopping()) return
      if ((restsUntil.get(table) ?? 0) > at) continue
      try {
        await transact(deps, ({ db }) => analyze(db, table))
      } catch (err) {
        restsUntil.set(table, at + REST_MS)
        deps.log.warn({ err, table }, 'a table that has grown was not analyzed; tried again later')
      }
    }
  }
}

/** `stop` ends it after the table that is analyzed. Any number of workers may do it. */
export function startAnalyzing(deps: Deps): { stop: () => Promise<void> } {
  let isStopping = false
  const { stop } = repeat({
    every_ms: EVERY_MS,
    work: createAnalyzing(deps, () => isStopping),
    onFailure: (err) => deps.log.warn({ err }, 'no look for tables that have grown; tried again'),
  })
  return {
    stop() {
      isStopping = true
      return stop()
    },
  }
}
