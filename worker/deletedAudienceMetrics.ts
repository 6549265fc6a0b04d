// Prometheus metrics of what is left of deleted audiences.
import type { Registry } from 'prom-client'
import { findDeletedSummary } from '../db/audiences/deleted.ts'
import type { Db } from '../db/connect.ts'
import type { Log } from '../runtime/log.ts'
import { lookedGauges, secondsSince } from './lookedGauges.ts'

interface Sources {
  db: Db
  log: Log
  now: () => Date
}

/** Registers the metrics. They are read when they are scraped. */
export function watchDeletedAudiences(registry: Registry, sources: Sources): void {
  const gauge = lookedGauges(registry, sources, {
    find: () => findDeletedSummary(sources.db),
    failed: 'deleted audiences could not be counted for the metrics',
  })
  gauge(
    'dripline_deleted_audiences',
    'Deleted audiences whose contacts are not all gone yet, counted up to 10,000',
    ({ count }) => count,
  )
  gauge(
    'dripline_deleted_audiences_oldest_seconds',
    'How long ago the first of them was deleted; 0 when there is none',
    ({ oldest_at }) => secondsSince(oldest_at, sources.now()),
  )
}
