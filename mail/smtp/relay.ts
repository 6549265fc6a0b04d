// Relay mode: all mail goes to one server, over a pool of connections that keeps its pace.
import type { ConnectionOptions } from 'node:tls'
import { tlsOfRelay } from '../../rules/mail/relayUrl.ts'
import { statedWait } from '../../rules/mail/retry.ts'
import { asksForLess } from '../../rules/mail/slower.ts'
import type { MailTransport, Outcome } from '../transport.ts'
import type { SessionOptions } from './handshake.ts'
import { busy } from './outcomes.ts'
import { type Pace, type PaceEvent, paceEventOf, startRelayPace } from './pace.ts'
import { createPaced, type Paced } from './paced.ts'
import { createPlaces } from './places.ts'
import type { Recorder } from './recorder.ts'
import { createSession } from './session.ts'
import { defaultTimeouts, type SmtpTimeouts, toPhaseMs } from './timeouts.ts'

export type RelayTimeouts = SmtpTimeouts

export interface RelayOptions {
  /**
   * `smtp://` or `smtps://`, `user:password@`, host, port (587, 465). TLS is required unless the host is loopback;
   * `?tls=off` and `?tls=required` change that.
   */
  url: string
  /** The most connections. */
  connections: number
  ehloName: string
  timeouts?: Partial<RelayTimeouts>
  /** TLS options, for example a private certificate authority. */
  tls?: ConnectionOptions
  /** 0 ≤ x < 1 */
  random?: () => number
  /** ms of a clock that nobody sets, as rests are measured by it; absent: `performance.now`. */
  now?: () => number
}

/** Messages for each connection beside the one that is being sent: while that one goes, they are composed. */
const WAITING = 9
/** Messages that come back after a rest are spread over this time. */
const SPREAD_MS = 2_000
/** While one message probes the relay, others come back after this time to twice this time. */
const PROBE_MS = 1_000
/** A message that the relay did not take now comes back after this time to three times this time. */
const SLOWER_MS = 1_000

/**
 * Makes the transport to a relay. It has fewer connections when the relay asks for that or pushes back, and rests while
 * it cannot be reached. What was not tried, or refused for the pace alone, ends as `busy`.
 * @throws Error if the URL is malformed, or if it would send a password without encryption
 */
export function createRelayTransport(options: RelayOptions): MailTransport {
  const { random = Math.random, now = () => performance.now() } = options
  const timeouts = { ...defaultTimeouts, ...options.timeouts }
  const sessionOptions = toSessionOptions(options, timeouts)
  const paced = createPaced({
    pace: startRelayPace(options.connections),
    places: createPlaces(Number.POSITIVE_INFINITY),
    idleMs: timeouts.idleMs,
    waitMs: null,
    waiting: WAITING,
    bounded: false,
    eventOf,
    spreadMs: SPREAD_MS,
    probeMs: PROBE_MS,
    random,
    now,
  })
  const route = {
    async open(recorder: Recorder | null) {
      const session = createSession(sessionOptions)
      return (await session.open(recorder)) ?? session
    },
    takes: () => true,
  }

  return {
    async send(...message) {
      const outcome = await paced.send(route, ...message)
      return outcome.kind === 'rejected' ? comesBack(outcome, paced, { random, now }) : outcome
    },
    rooms: () => ({ known: nobody, other: paced.room() }),
    close: paced.close,
  }
}

const nobody: ReadonlyMap<string, number> = new Map()

/**
 * What an outcome says about the relay. Refusals of senders and recipients make it slower, and never rest: one
 * workspace's mail must not stop all mail.
 */
function eventOf(outcome: Outcome, pace: Pace): PaceEvent | null {
  if (outcome.kind !== 'rejected') return paceEventOf(outcome)
  if (asksForLess(outcome)) return 'pushed_back'
  const event = paceEventOf(outcome)
  return event === 'deferred' && pace.limit === 1 ? null : event
}

/** A refusal as `busy` if the relay asks in it for less at a time. */
function comesBack(
  outcome: Extract<Outcome, { kind: 'rejected' }>,
  paced: Paced,
  { random, now }: { random: () => number; now: () => number },
): Outcome {
  if (!asksForLess(outcome)) return outcome
  const asked_ms = Math.max(SLOWER_MS, statedWait(outcome.reply) ?? 0, paced.restsUntil() - now())
  return busy(`${outcome.phase}: ${outcome.reply}`, asked_ms + 2 * SLOWER_MS * random())
}

function toSessionOptions(options: RelayOptions, timeouts: RelayTimeouts): SessionOptions {
  // The error of the URL parser would hold the URL with its password.
  if (!URL.canParse(options.url)) throw new Error('the URL of the relay is malformed')
  const url = new URL(options.url)
  if (!/^smtps?:$/.test(url.protocol) || url.hostname === '') {
    throw new Error('the relay must be smtp://host or smtps://host')
  }
  const { host, implicit, required, showsPassword } = tlsOfRelay(url)
  const auth =
    url.username === ''
      ? null
      : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }
  if (showsPassword) throw new Error('the relay has a password and tls=off')
  return {
    host,
    port: url.port === '' ? (implicit ? 465 : 587) : Number(url.port),
    tls: implicit ? 'implicit' : required ? 'starttls' : 'none',
    tlsOptions: options.tls ?? {},
    auth,
    ehloName: options.ehloName,
    phaseMs: toPhaseMs(timeouts),
  }
}
