// Decides how many connections a destination or the relay gets: one more while it accepts mail, half when it pushes
// back, none for a while (a rest) when it cannot be reached. Pure.
import type { Outcome } from '../transport.ts'
import { NO_RETURN_PATH } from './unsent.ts'

export interface Pace {
  /** Connections allowed now, 1 to `max`. */
  readonly limit: number
  readonly max: number
  /** The first rest, the second one in a row and so on, ms; the last one repeats. */
  readonly restsMs: readonly number[]
  /** Deliveries since the limit last changed. */
  readonly delivered: number
  /** Deferrals since the last delivery. */
  readonly deferred: number
  /** Until then further push-backs count as the same one; ms. */
  readonly stormUntil: number
  /** The limit does not grow before this time; ms. */
  readonly growAt: number
  /** Rests in a row; 0 after a delivery. */
  readonly rests: number
  /** Nothing is sent before this time; ms. */
  readonly restUntil: number
}

export type PaceEvent =
  | 'delivered'
  /** A 4xx, or a connection that broke. */
  | 'deferred'
  /** The destination asks for less: 421, or a 4xx before MAIL. */
  | 'pushed_back'
  /** No connection could be opened, and none is open. */
  | 'unreachable'
  /** No further connection could be opened; `connected` are open. */
  | { kind: 'refused'; connected: number }

const INITIAL_CONNECTIONS = 5
/** This many deferrals in a row count as a push-back. */
const STORM_DEFERRALS = 5
const STORM_MS = 2_000
const HOLD_MS = 60_000
/** Somebody who asks for less on the only connection gets this rest at least. */
const PUSHED_REST_MS = 1_000
const RESTS_MS = [30_000, 60_000, 120_000, 240_000, 480_000, 600_000]
/** All mail waits for the relay: its first failure is no reason to rest, and a rest is short. */
const RELAY_RESTS_MS = [0, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000]

/**
 * The pace of a new destination: five connections, or `max` if that is less.
 * @param max the most connections
 */
export function startPace(max: number): Pace {
  return paceFrom(Math.min(max, INITIAL_CONNECTIONS), max, RESTS_MS)
}

/** The pace of a relay: all connections that its operator allows, and short rests. */
export function startRelayPace(max: number): Pace {
  return paceFrom(max, max, RELAY_RESTS_MS)
}

function paceFrom(limit: number, max: number, restsMs: readonly number[]): Pace {
  return {
    limit,
    max,
    restsMs,
    delivered: 0,
    deferred: 0,
    stormUntil: 0,
    growAt: 0,
    rests: 0,
    restUntil: 0,
  }
}

/** The pace after an event. @param now ms; always from the same clock */
export function paceAfter(pace: Pace, event: PaceEvent, now: number): Pace {
  if (typeof event === 'object') {
    const limit = Math.max(1, Math.min(pace.limit, event.connected))
    return { ...pace, limit, delivered: 0, growAt: now + HOLD_MS }
  }
  switch (event) {
    case 'delivered':
      return afterDelivery(pace, now)
    case 'deferred':
      return pace.deferred + 1 < STORM_DEFERRALS
        ? { ...pace, deferred: pace.deferred + 1 }
        : afterPushBack(pace, now)
    case 'pushed_back':
      return afterPushBack(pace, now)
    case 'unreachable':
      return rested(pace, now)
  }
}

/** Additive increase: one more connection after as many deliveries as there are connections. */
function afterDelivery(pace: Pace, now: number): Pace {
  const isWell = pace.deferred === 0 && pace.rests === 0 && pace.restUntil === 0
  if (isWell && pace.limit >= pace.max) return pace
  const well = { ...pace, deferred: 0, rests: 0, restUntil: 0 }
  if (now < pace.growAt || pace.limit >= pace.max) return well
  const delivered = pace.delivered + 1
  if (delivered < pace.limit) return { ...well, delivered }
  return { ...well, delivered: 0, limit: pace.limit + 1 }
}

function afterPushBack(pace: Pace, now: number): Pace {
  const heard = { ...pace, deferred: 0 }
  // Connections that are refused at the same time count once.
  if (now < pace.stormUntil) return heard
  if (pace.limit === 1) return rested(heard, now, PUSHED_REST_MS)
  const limit = Math.floor(pace.limit / 2)
  return { ...heard, limit, delivered: 0, stormUntil: now + STORM_MS, growAt: now + HOLD_MS }
}

function rested(pace: Pace, now: number, least_ms = 0): Pace {
  if (now < pace.restUntil) return pace
  const rest = Math.max(least_ms, pace.restsMs[pace.rests] ?? pace.restsMs.at(-1) ?? 0)
  return {
    ...pace,
    limit: 1,
    delivered: 0,
    deferred: 0,
    growAt: 0,
    rests: pace.rests + 1,
    restUntil: now + rest,
  }
}

/** What an outcome says about its destination; null if it is only about the message or its recipient. */
export function paceEventOf(outcome: Outcome): PaceEvent | null {
  switch (outcome.kind) {
    case 'delivered':
      return 'delivered'
    case 'busy':
    case 'lost_lease':
      return null
    case 'ambiguous':
      return 'deferred'
    case 'failed':
      // In this phase the failure may be that of the database.
      return outcome.phase === 'body' || outcome.error === NO_RETURN_PATH ? null : 'deferred'
    case 'rejected':
      if (outcome.code === 421) return 'pushed_back'
      if (outcome.code >= 500) return null
      // 4.1.x and 4.2.x are about one address or mailbox (a full one)
      return /^4\.[12]\./.test(outcome.enhanced ?? '') ? null : 'deferred'
  }
}
