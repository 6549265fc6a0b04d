// A pool of connections that keeps the pace of who it sends to: fewer connections when they push back, none for a while
// (a rest) when they cannot be reached. For destinations of direct delivery and for the relay.
import type { MailTransport, Outcome } from '../transport.ts'
import { busy } from './outcomes.ts'
import { type Pace, type PaceEvent, paceAfter } from './pace.ts'
import type { Places } from './places.ts'
import { createPool } from './pool.ts'
import type { Route } from './poolOptions.ts'
import type { Session } from './session.ts'

export interface PacedOptions {
  /** The pace to begin with. */
  pace: Pace
  places: Places
  idleMs: number
  /** How long a message waits for a connection; null: without a limit. */
  waitMs: number | null
  /** Messages that may wait for each connection; `room` asks for no more. */
  waiting: number
  /** Whether a message more ends as `busy`. False: it waits. */
  bounded: boolean
  /** While no connection is open, one is opened before the others: a receiver that does not answer holds one place. */
  oneFirst?: boolean
  /** Whether an open connection, or the outcome of trying to open one, is of the receiver; absent: each is. */
  concerns?: (said: Session | Outcome) => boolean
  /** What an outcome says about the receiver. */
  eventOf: (outcome: Outcome, pace: Pace) => PaceEvent | null
  /** Messages that come back after a rest are spread over this time. */
  spreadMs: number
  /** While one message probes after a rest, others come back after this time to twice this time. */
  probeMs: number
  /** Called when `room` may have changed. */
  onRoom?: () => void
  /** 0 ≤ x < 1 */
  random: () => number
  now: () => number
}

export type Paced = ReturnType<typeof createPaced>

export function createPaced(options: PacedOptions) {
  const { now, random, eventOf, onRoom = () => undefined, concerns = () => true } = options
  let { pace } = options
  let lastRefusal = ''

  const hear = (event: PaceEvent) => {
    const { limit, rests } = pace
    pace = paceAfter(pace, event, now())
    if (pace.limit !== limit || pace.rests !== rests) onRoom()
  }

  const untried = () => {
    const rest_ms = pace.restUntil - now()
    const wait_ms =
      rest_ms > 0 ? rest_ms + options.spreadMs * random() : options.probeMs * (1 + random())
    return busy(`not tried now, since the destination fails: ${lastRefusal}`, wait_ms)
  }

  const limit = () => {
    const { connected, idle } = pool.size()
    return options.oneFirst && connected + idle === 0 ? 1 : pace.limit
  }
  const pool = createPool({
    limit,
    places: options.places,
    random,
    // With those that it has begun it takes as many as `room` asks for.
    ...(options.bounded ? { waitingMax: () => pace.limit * (1 + options.waiting) - limit() } : {}),
    idleMs: options.idleMs,
    waitMs: options.waitMs,
    held: () => (now() < pace.restUntil ? untried() : null),
    onRefused(outcome, connected) {
      if (now() < pace.restUntil || !concerns(outcome)) return false
      hear(connected > 0 ? { kind: 'refused', connected } : 'unreachable')
      lastRefusal = wordsOf(outcome)
      return connected > 0
    },
    onOutcome(outcome, session) {
      const event = concerns(session) ? eventOf(outcome, pace) : null
      if (event === null) return
      hear(event)
      if (event === 'pushed_back' || event === 'deferred') lastRefusal = wordsOf(outcome)
    },
  })

  /** Whether one message probes after a rest. Others are not tried meanwhile. */
  function isProbing(): boolean {
    if (pace.rests === 0) return false
    const { busy, connected } = pool.size()
    return busy > 0 && connected === 0
  }

  return {
    /** Like `MailTransport.send`, on a connection of this route. */
    async send(route: Route, ...message: Parameters<MailTransport['send']>): Promise<Outcome> {
      if (now() < pace.restUntil || isProbing()) return untried()
      if (pace.rests === 0) return pool.send(route, ...message)
      const sending = pool.send(route, ...message)
      onRoom()
      const outcome = await sending
      onRoom()
      return outcome
    },
    close: pool.close,
    /** How many messages should be under way now: none in a rest, one that probes after it. */
    room(): number {
      if (now() < pace.restUntil || isProbing()) return 0
      const { connected } = pool.size()
      return pace.rests > 0 && connected === 0 ? 1 : roomFor(pace.limit, options)
    },
    /** When it is tried again, ms; in the past if it does not rest. */
    restsUntil: () => pace.restUntil,
    state: () => ({ ...pool.size(), limit: pace.limit, restsUntil: pace.restUntil }),
  }
}

/** The messages that keep so many connections busy, of those that have places. */
export function roomFor(
  connections: number,
  { waiting, places }: Pick<PacedOptions, 'waiting' | 'places'>,
): number {
  return Math.min(connections, places.max) * (1 + waiting)
}

function wordsOf(outcome: Outcome): string {
  if (outcome.kind === 'failed') return `${outcome.phase}: ${outcome.error}`
  return outcome.kind === 'rejected' ? `${outcome.phase}: ${outcome.reply}` : outcome.kind
}
