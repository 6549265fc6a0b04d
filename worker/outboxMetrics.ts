// Prometheus metrics of what waits for Temporal, and of what it has refused.
import type { Registry } from 'prom-client'
import type { Db } from '../db/connect.ts'
import { findOldestWaiting, findRefusedSummary } from '../db/outboxReads.ts'
import type { Log } from '../runtime/log.ts'
import { lookedGauges, secondsSince } from './lookedGauges.ts'

interface Sources {
  db: Db
  log: Log
  now: () => Date
}

/** Registers the metrics. They are read when they are scraped. */
export function watchOutbox(registry: Registry, sources: Sources): void {
  const gauge = lookedGauges(registry, sources, {
    async find() {
      const [refused, oldest] = await Promise.all([
        findRefusedSummary(sources.db),
        findOldestWaiting(sources.db),
      ])
      return { ...refused, waiting_since: oldest }
    },
    failed: 'the outbox could not be looked at for the metrics',
  })
  gauge(
    'dripline_outbox_refused',
    'Starts, signals, cancellations and checks that Temporal has refused and that are tried again',
    ({ count }) => count,
  )
  gauge(
    'dripline_outbox_refused_oldest_seconds',
    'Age of the oldest of them; 0 when there is none',
    ({ oldest_at }) => secondsSince(oldest_at, sources.now()),
  )
  gauge(
    'dripline_outbox_oldest_seconds',
    'Age of the oldest start, signal, cancellation or check that waits for Temporal without having been refused; 0 when there is none',
    ({ waiting_since }) => secondsSince(waiting_since, sources.now()),
  )
}
