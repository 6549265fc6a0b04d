// Prometheus metrics of what is left of deleted audiences.
import { Gauge, type Registry } from 'prom-client'
import { type DeletedSummary, findDeletedSummary } from '../db/audiences/deleted.ts'
import type { Db } from '../db/connect.ts'
import type { Log } from '../runtime/log.ts'

/** The shortest time between two looks into the database, however many scrapers ask. */
const LOOK_MS = 10_000

interface Sources {
  db: Db
  log: Log
  now: () => Date
}

/** Registers the metrics. They are read when they are scraped. */
export function watchDeletedAudiences(registry: Registry, { db, log, now }: Sources): void {
  let looked: { at: number; summary: Promise<DeletedSummary | null> } | undefined
  const look = (): Promise<DeletedSummary | null> => {
    const at = now().getTime()
    if (!looked || at - looked.at >= LOOK_MS) {
      const summary = findDeletedSummary(db).catch((err: unknown) => {
        // Without the database the other metrics are still shown.
        log.warn({ err }, 'deleted audiences could not be counted for the metrics')
        looked = undefined
        return null
      })
      looked = { at, summary }
    }
    return looked.summary
  }
  const gauge = (name: string, help: string, read: (summary: DeletedSummary) => number) =>
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
    'dripline_deleted_audiences',
    'Deleted audiences whose contacts are not all gone yet, counted up to 10,000',
    ({ count }) => count,
  )
  gauge(
    'dripline_deleted_audiences_oldest_seconds',
    'How long ago the first of them was deleted; 0 when there is none',
    ({ oldest_at }) =>
      oldest_at === null ? 0 : Math.max(0, (now().getTime() - oldest_at.getTime()) / 1000),
  )
}
