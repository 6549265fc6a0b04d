// Prometheus metrics of deliveries: queue, attempts, SMTP times, connections. They hold no addresses.
import type { Logger } from 'pino'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Db } from '../db/connect.ts'
import { listQueueDepths, type QueueDepth } from '../db/deliveries/queueDepth.ts'
import type { Breakers } from '../delivery/breakers.ts'
import type { DeliveryMetrics } from '../delivery/deps.ts'
import type { DestinationState } from '../mail/smtp/mx.ts'
import type { MailTransport, Outcome } from '../mail/transport.ts'

/** The shortest time between two counts of the queue. */
const QUEUE_LOOK_MS = 10_000
/** Destinations that get a label of their own; the others are summed up as `other`. */
const DESTINATIONS_MAX = 50
const DESTINATION_CHARS_MAX = 120
const PHASE_BUCKETS_S = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 30, 60, 300]
const CLAIM_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5]

interface Sources {
  db: Db
  log: Logger
  now: () => Date
  transport: MailTransport & { destinations?: () => DestinationState[] }
  breakers: Pick<Breakers, 'countOpen'>
}

/** Registers the metrics of deliveries. @returns functions that the lanes call */
export function createDeliveryMetrics(registry: Registry, sources: Sources): DeliveryMetrics {
  const registers = [registry]
  watchQueue(registry, sources)
  watchDestinations(registry, sources)
  watchBreakers(registry, sources)

  const attempts = new Counter({
    name: 'dripline_delivery_attempts_total',
    help: 'Answers of the way out, by what came of them',
    labelNames: ['outcome'],
    registers,
  })
  const refusals = new Counter({
    name: 'dripline_refusals_total',
    help:
      'Refusals by whose fault they are: `recipient`, `mailbox`, `content`, `unknown`, or ours: `sender`, ' +
      '`address`, `account`',
    labelNames: ['fault'],
    registers,
  })
  const phases = new Histogram({
    name: 'dripline_smtp_phase_seconds',
    help: 'Time that a phase of an SMTP session took; reused connections have none of the first',
    labelNames: ['phase'],
    buckets: PHASE_BUCKETS_S,
    registers,
  })
  const claims = new Histogram({
    name: 'dripline_claim_seconds',
    help: 'Time to claim a batch of due deliveries',
    buckets: CLAIM_BUCKETS_S,
    registers,
  })
  const { claimed, unknown, resent, suppressed, putOff } = createCounters(registers)

  return {
    claimed(count, took_ms) {
      claims.observe(took_ms / 1000)
      claimed.inc(count)
    },
    attempted(outcome, trace) {
      attempts.inc({ outcome: classOf(outcome) })
      for (const [phase, took_ms] of Object.entries(trace.phase_ms)) {
        phases.observe({ phase }, took_ms / 1000)
      }
    },
    refused: (refusal) => {
      refusals.inc({ fault: refusal.fault === 'ours' ? refusal.speaksOf : refusal.fault })
    },
    settled(counts) {
      unknown.inc(counts.unknown)
      resent.inc(counts.resent)
      suppressed.inc(counts.suppressed)
    },
    putOff: (count) => putOff.inc(count),
  }
}

/** Counters without labels. */
function createCounters(registers: Registry[]) {
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  return {
    claimed: counter('dripline_claimed_deliveries_total', 'Deliveries that were claimed'),
    unknown: counter(
      'dripline_unknown_deliveries_total',
      'Deliveries whose end nobody knows (RFC 1047) and that were not sent again',
    ),
    resent: counter(
      'dripline_resent_deliveries_total',
      'Deliveries that are sent once more since nobody knew their end',
    ),
    suppressed: counter(
      'dripline_suppressed_recipients_total',
      'Recipients that a reply put on a suppression list',
    ),
    putOff: counter(
      'dripline_warm_up_put_off_total',
      'Deliveries put off to a later day by the warm-up of their domain',
    ),
  }
}

function classOf(outcome: Outcome): string {
  if (outcome.kind !== 'rejected') return outcome.kind
  return outcome.code < 500 ? 'rejected_4xx' : 'rejected_5xx'
}

/**
 * Counts the queue when metrics are scraped, and remembers the counts for `QUEUE_LOOK_MS`, however many scrapers
 * ask.
 */
function watchQueue(registry: Registry, { db, log, now }: Sources): void {
  let looked: { at: number; depths: Promise<QueueDepth[]> } | undefined
  const look = async (): Promise<QueueDepth[]> => {
    const at = now().getTime()
    if (!looked || at - looked.at >= QUEUE_LOOK_MS) {
      looked = { at, depths: listQueueDepths(db, now()) }
    }
    try {
      return await looked.depths
    } catch (err) {
      // Without the database the other metrics are still shown.
      log.warn({ err }, 'the queue could not be looked at for the metrics')
      looked = undefined
      return []
    }
  }
  const gauge = (name: string, help: string, read: (depth: QueueDepth) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['state', 'shard'],
      registers: [registry],
      async collect() {
        const depths = await look()
        this.reset()
        for (const depth of depths) {
          this.set({ state: depth.state, shard: depth.shard }, read(depth))
        }
      },
    })
  gauge(
    'dripline_queue_deliveries',
    'Deliveries that are not settled: up to 5000 waiting ones of each shard, and those under way among the 20000 that were claimed last',
    ({ count }) => count,
  )
  gauge(
    'dripline_queue_oldest_seconds',
    'How long the first waiting delivery has been due',
    ({ oldest_s }) => oldest_s,
  )
}

function watchDestinations(registry: Registry, { transport }: Sources): void {
  const { destinations } = transport
  if (!destinations) return
  new Gauge({
    name: 'dripline_smtp_connections',
    help: 'Connections of direct delivery by destination, the busiest ones by name',
    labelNames: ['destination', 'state'],
    registers: [registry],
    collect() {
      this.reset()
      const busiest = destinations().sort((a, b) => loadOf(b) - loadOf(a))
      for (const [i, { group, connected, idle, waiting }] of busiest.entries()) {
        const destination = i < DESTINATIONS_MAX ? group.slice(0, DESTINATION_CHARS_MAX) : 'other'
        this.inc({ destination, state: 'busy' }, connected)
        this.inc({ destination, state: 'idle' }, idle)
        this.inc({ destination, state: 'waited_for' }, waiting)
      }
    },
  })
}

const loadOf = ({ connected, idle, waiting }: DestinationState) => connected + idle + waiting

function watchBreakers(registry: Registry, { breakers }: Sources): void {
  new Gauge({
    name: 'dripline_breakers_open',
    help:
      'Breakers that hold mail back, because it was refused for a fault of ours: of a sending domain (`sender`), of ' +
      'our network address (`address`), of our login (`account`)',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const [kind, count] of Object.entries(breakers.countOpen())) this.set({ kind }, count)
    },
  })
}
