// Has Postgres look at tables that have grown, every few seconds, so that it plans by what stands in them.
import type { Db } from '../db/connect.ts'
import { analyzeGrown } from '../db/planStatistics.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'

const EVERY_MS = 5_000

/** `stop` ends it. Any number of workers may do it. */
export function startAnalyzing({ db, log }: { db: Db; log: Log }): { stop: () => Promise<void> } {
  return repeat({
    every_ms: EVERY_MS,
    work: () => analyzeGrown(db),
    onFailure: (err) =>
      log.warn({ err }, 'Postgres did not look at tables that have grown; tried again'),
  })
}
