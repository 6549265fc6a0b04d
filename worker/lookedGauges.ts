// Makes metrics of what a query finds: gauges that share a look into the database, which is made when they are scraped.
import { Gauge, type Registry } from 'prom-client'
import type { Log } from '../runtime/log.ts'

/** The shortest time between two looks into the database, however many scrapers ask. */
const LOOK_MS = 10_000

/** Registers a gauge. @param read its value in what was found */
type MakeGauge<Found> = (name: string, help: string, read: (found: Found) => number) => void

/**
 * Gives the function that makes the gauges of one query.
 * @param failed what the log says where the query fails; the gauges have no value then
 */
export function lookedGauges<Found>(
  registry: Registry,
  { log, now }: { log: Log; now: () => Date },
  { find, failed }: { find: () => Promise<Found>; failed: string },
): MakeGauge<Found> {
  let looked: { at: number; found: Promise<Found | null> } | undefined
  const look = (): Promise<Found | null> => {
    const at = now().getTime()
    if (!looked || at - looked.at >= LOOK_MS) {
      const found = find().catch((err: unknown) => {
        // Without the database the other metrics are still shown.
        log.warn({ err }, failed)
        looked = undefined
        return null
      })
      looked = { at, found }
    }
    return looked.found
  }
  return (name, help, read) => {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const found = await look()
        if (found) this.set(read(found))
        else this.reset()
      },
    })
  }
}

/** How long ago a time was, in seconds; 0 for null and for one to come. */
export const secondsSince = (at: Date | null, now: Date): number =>
  at === null ? 0 : Math.max(0, (now.getTime() - at.getTime()) / 1000)
