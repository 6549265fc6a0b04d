// The API's own metrics: what it refused for a while, who waits for the database, the memory of bodies and answers, connections.
import { Counter, Gauge, type Registry } from 'prom-client'
import type { DroppedBy } from './dropped.ts'
import { type RefusedReason, refusedReasons } from './unavailable.ts'

/** Read at each scrape. */
interface Sources {
  /** Places in the pool of database connections (`db/shares.ts`). */
  places: () => { taken: number; waiting: number }
  /** The memory for bodies (`bodies/budget.ts`). */
  bodies: () => { used: number; waiting: number }
  /** The memory of answers (`answers.ts`). */
  answers: () => { untaken: number }
}

export interface ApiMetrics {
  refused(reason: RefusedReason): void
  dropped(by: DroppedBy): void
  /** Says where the gauges look; before that they are 0. */
  watch(sources: Partial<Sources>): void
}

/** Registers the metrics. A registry takes them once. */
export function createApiMetrics(registry: Registry): ApiMetrics {
  const registers = [registry]
  const gauge = (name: string, help: string, read: () => number) =>
    gaugeOf(registers, { name, help }, read)
  const sources: Sources = {
    places: () => ({ taken: 0, waiting: 0 }),
    bodies: () => ({ used: 0, waiting: 0 }),
    answers: () => ({ untaken: 0 }),
  }
  const refused = new Counter({
    name: 'dripline_api_refused_total',
    help: 'API: requests answered with 503 or 408, by reason; of client_gone nobody read the answer',
    labelNames: ['reason'],
    registers,
  })
  for (const reason of refusedReasons) refused.inc({ reason }, 0)
  const dropped = new Counter({
    name: 'dripline_api_connections_dropped_total',
    help: 'API: connections closed at once because there were too many, of the process or of one address, or too many requests on one',
    labelNames: ['limit'],
    registers,
  })
  new Gauge({
    name: 'dripline_api_database_places',
    help: 'API: connections of the pool that requests use, and requests that wait for one',
    labelNames: ['state'],
    registers,
    collect() {
      const { taken, waiting } = sources.places()
      this.set({ state: 'in_use' }, taken)
      this.set({ state: 'waiting' }, waiting)
    },
  })
  gauge(
    'dripline_api_body_bytes',
    'API: memory that bodies over 64 KiB are counted with, until their requests are answered',
    () => sources.bodies().used,
  )
  gauge(
    'dripline_api_bodies_waiting',
    'API: bodies over 64 KiB that wait for memory',
    () => sources.bodies().waiting,
  )
  gauge(
    'dripline_api_untaken_bytes',
    'API: memory of answers that their clients have not taken; one that is still being made counts with 4 MiB',
    () => sources.answers().untaken,
  )
  return {
    refused: (reason) => refused.inc({ reason }),
    dropped: (by) => dropped.inc({ limit: by }),
    watch: (given) => void Object.assign(sources, given),
  }
}

/** A gauge with one value, which is read at each scrape. */
function gaugeOf(
  registers: Registry[],
  names: { name: string; help: string },
  read: () => number,
): void {
  new Gauge({
    ...names,
    registers,
    collect() {
      this.set(read())
    },
  })
}
