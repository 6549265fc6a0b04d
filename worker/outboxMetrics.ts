// Prometheus metrics of what Temporal has refused.
import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/connect.ts'
import { findRefusedSummary, type RefusedSummary } from '../db/outboxReads.ts'
import type { Log } from '../runtime/log.ts'

/** The shortest time between two looks into the database, however many scrapers ask. */
const LOOK_MS = 10_000

interface Sources {
  db: Db
  log: Log
  now: () => Date
}

/** Registers the metrics. They are read when they are scraped. */
export function watchOutbox(registry: Registry, { db, log, now }: Sources): void {
  let looked: { at: number; summary: Promise<RefusedSummary | null> } | undefined
  const look = (): Promise<RefusedSummary | null> => {
    const at = now().getTime()
    if (!looked || at - looked.at >= LOOK_MS) {
      const summary = findRefusedSummary(db).catch((err: unknown) => {
        // Without the database the other metrics are still shown.
        log.warn({ err }, 'the outbox could not be looked at for the metrics')
        looked = undefined
        return null
      })
      looked = { at, summary }
    }
    return looked.summary
  }
  const gauge = (name: string, help: string, read: (summary: RefusedSummary) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const summary = await look()
        if (summary) this.set(read(summary))
        else this.reset()
      },
    })
  gauge(
    'dripline_outbox_refused',
    'Starts, signals, cancellations and checks that Temporal has refused and that are tried again',
    ({ count }) => count,
  )
  gauge(
    'dripline_outbox_refused_oldest_seconds',
    'Age of the oldest of them; 0 when there is none',
    ({ oldest_at }) =>
      oldest_at === null ? 0 : Math.max(0, (now().getTime() - oldest_at.getTime()) / 1000),
  )
}
