// Deletes what is too old to be kept, every hour, one worker at a time.
import { setTimeout as delay } from 'node:timers/promises'
import { Counter, type Registry } from 'prom-client'
import type { CommandDeps } from '../commands/deps.ts'
import { claimRetention, RETENTION_EVERY_MS } from '../commands/retention/claim.ts'
import { forgetOld, type RetentionWatch } from '../commands/retention/forget.ts'
import type { RetentionPlace } from '../db/retention/writes.ts'
import type { RetentionDays } from '../rules/retention.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'

/** How often a worker asks whether anything is due. */
const LOOK_EVERY_MS = 60_000
const PAUSE_MS_MIN = 10
const PAUSE_MS_MAX = 1_000

interface Deps extends Pick<CommandDeps, 'db' | 'now' | 'wake'> {
  log: Log
  retentionDays: RetentionDays
}

/** As long as the page took: so a part of one connection's time is all that the database gives for this. */
export const restBetweenPages = (took_ms: number): Promise<unknown> =>
  delay(Math.min(Math.max(took_ms, PAUSE_MS_MIN), PAUSE_MS_MAX))

/** Registers the metrics. @returns what counts in them, by table */
export function createRetentionMetrics(registry: Registry) {
  const deleted = new Counter({
    name: 'dripline_retention_deleted_total',
    help: 'Rows that were deleted because they were too old to be kept, by table',
    labelNames: ['part'],
    registers: [registry],
  })
  const failures = new Counter({
    name: 'dripline_retention_failures_total',
    help: 'Times that old rows of a table could not be deleted; they are tried again within an hour or two',
    labelNames: ['part'],
    registers: [registry],
  })
  return {
    deleted: (part: string, rows: number) => deleted.inc({ part }, rows),
    failed: (part: string) => failures.inc({ part }),
  }
}

interface Pace {
  isStopping: () => boolean
  pause: (took_ms: number) => Promise<unknown>
  /** Where a round that ends before its end goes on the next time. */
  places: Map<string, RetentionPlace>
  /** Counts ms. */
  clock?: () => number
}

/**
 * Deletes what is due, unless another worker has done so within the hour. It ends after an hour, so that what is through is looked at
 * again, however much is left of others.
 */
export async function retentionRound(
  deps: Deps,
  metrics: ReturnType<typeof createRetentionMetrics>,
  { isStopping, pause, places, clock = () => performance.now() }: Pace,
): Promise<void> {
  const began = clock()
  const parts = await claimRetention(deps, deps.retentionDays)
  const watch: RetentionWatch = {
    deleted: ({ table }, rows) => metrics.deleted(table, rows),
    failed({ table }, err) {
      metrics.failed(table)
      deps.log.warn({ err, part: table }, 'old rows were not deleted; tried again within two hours')
    },
  }
  await forgetOld(deps, {
    ...{ parts, days: deps.retentionDays, pause, watch, places },
    isStopping: () => isStopping() || clock() - began >= RETENTION_EVERY_MS,
  })
}

/** Any number of workers may do it; `stop` ends it after the page that it is at. */
export function startRetention(deps: Deps & { registry: Registry }): { stop: () => Promise<void> } {
  let isStopping = false
  const places = new Map<string, RetentionPlace>()
  const metrics = createRetentionMetrics(deps.registry)
  const looking = repeat({
    every_ms: LOOK_EVERY_MS,
    work: () =>
      retentionRound(deps, metrics, {
        ...{ isStopping: () => isStopping, pause: restBetweenPages, places },
      }),
    onFailure: (err) => deps.log.warn({ err }, 'old rows were not looked for; tried again'),
  })
  return {
    stop() {
      isStopping = true
      return looking.stop()
    },
  }
}
