// One destination of direct delivery: the mail servers that a group of domains shares, with their connections and
// pace.
import type { ConnectionOptions } from 'node:tls'
import type { Phase } from '../../rules/mail/phases.ts'
import type { MailTransport, Outcome } from '../transport.ts'
import { busy, failedToConnect } from './outcomes.ts'
import { type PaceEvent, paceAfter, paceEventOf, startPace } from './pace.ts'
import { createPool } from './pool.ts'
import type { Recorder } from './recorder.ts'
import { createSession, type Session } from './session.ts'

export interface DestinationSettings {
  port: number
  ehloName: string
  localAddress: string | null
  phaseMs: Record<Phase, number>
  idleMs: number
  /** Time to open one connection, over all hosts and addresses that are tried. */
  openMs: number
  /** How long a message waits for a connection. */
  waitMs: number
  connections: number
  /** 0 ≤ x < 1 */
  random: () => number
  tlsOptions: ConnectionOptions
  now: () => number
  /** Finds the addresses of a host, or says why there are none. */
  addressesOf: (host: string) => Promise<{ addresses: string[]; error: string }>
}

export type Destination = ReturnType<typeof createDestination>

/** The most addresses that are tried for one connection. */
const ADDRESSES_MAX = 5
/**
 * How long an address that did not answer is tried last, and how long TLS is not used with an address where it
 * failed.
 */
const AVOID_MS = 60_000
const WITHOUT_TLS_MS = 10 * 60_000
/** Messages that may wait for each connection, if the destination has been reached and if it has not. */
const WAITING = { reached: 10, unproven: 4 }
/** Messages that come back after a rest are spread over this time. */
const SPREAD_MS = 10_000
/** While one message probes a destination after a rest, others come back after this time to twice this time. */
const PROBE_MS = 5_000

/**
 * Makes a destination. Connections are opened when there is mail, as many as its pace allows. Each connection
 * tries the hosts in the given order, and at most five of their addresses.
 */
export function createDestination(settings: DestinationSettings) {
  const { now, phaseMs, random } = settings
  const silent = createMemory(AVOID_MS, now)
  const withoutTls = createMemory(WITHOUT_TLS_MS, now)
  let pace = startPace(settings.connections)
  let usedAt = now()
  let lastRefusal = ''
  /** False before the first connection, and after none could be opened while none was open. */
  let reached = false

  const hear = (event: PaceEvent) => {
    pace = paceAfter(pace, event, now())
  }

  const pool = createPool({
    limit: () => pace.limit,
    random: settings.random,
    waitingMax: () => pace.limit * (reached ? WAITING.reached : WAITING.unproven),
    idleMs: settings.idleMs,
    waitMs: settings.waitMs,
    onRefused(outcome, connected) {
      if (now() < pace.restUntil) return false
      if (connected === 0) reached = false
      hear(connected > 0 ? { kind: 'refused', connected } : 'unreachable')
      lastRefusal = wordsOf(outcome)
      return connected > 0
    },
    onOutcome(outcome) {
      const event = paceEventOf(outcome)
      if (event) hear(event)
      if (event === 'pushed_back' || event === 'deferred') lastRefusal = wordsOf(outcome)
    },
  })

  const untried = () => {
    const rest_ms = pace.restUntil - now()
    const wait_ms = rest_ms > 0 ? rest_ms + SPREAD_MS * random() : PROBE_MS * (1 + random())
    return busy(`not tried now, since the destination fails: ${lastRefusal}`, wait_ms)
  }

  /** Whether one message probes the destination after a rest. Others are not tried meanwhile. */
  function isProbing(): boolean {
    const { busy, connected } = pool.size()
    return pace.rests > 0 && busy > 0 && connected === 0
  }

  /** Opens a connection to the first host that accepts one, or returns the outcome of trying. */
  async function open(
    hosts: readonly string[],
    recorder: Recorder | null,
  ): Promise<Session | Outcome> {
    if (now() < pace.restUntil) return untried()
    const deadline = now() + settings.openMs
    let said: Outcome = failedToConnect('no host of the domain has an address')
    let tried = 0
    const attempt = async (host: string, address: string): Promise<Session | null> => {
      if (tried >= ADDRESSES_MAX || now() >= deadline) return null
      tried += 1
      const session = await connectTo(host, address, deadline, recorder)
      if (!('kind' in session)) {
        reached = true
        return session
      }
      // A server's reply says more than the silence of another one.
      if (said.kind !== 'rejected') said = session
      return null
    }
    const later: [string, string][] = []
    for (const host of hosts) {
      const { addresses, error } = await settings.addressesOf(host)
      if (addresses.length === 0 && tried === 0) said = failedToConnect(`${host}: ${error}`)
      for (const address of addresses) {
        if (silent.has(address)) {
          later.push([host, address])
          continue
        }
        const session = await attempt(host, address)
        if (session) return session
      }
    }
    for (const [host, address] of later) {
      const session = await attempt(host, address)
      if (session) return session
    }
    return said
  }

  /**
   * Opportunistic security (RFC 7435): TLS if the server offers it, with any certificate. If TLS fails, the
   * message is sent without it on a new connection, because delivery matters more than encryption here.
   */
  async function connectTo(
    host: string,
    address: string,
    deadline: number,
    recorder: Recorder | null,
  ): Promise<Session | Outcome> {
    const left = deadline - now()
    const within = (wait_ms: number) => Math.max(1, Math.min(wait_ms, left))
    const plain = withoutTls.has(address)
    const session = createSession({
      host: address,
      name: host,
      port: settings.port,
      tls: plain ? 'none' : 'opportunistic',
      tlsOptions: { ...settings.tlsOptions, rejectUnauthorized: false, servername: host },
      auth: null,
      ehloName: settings.ehloName,
      phaseMs: {
        ...phaseMs,
        connect: within(phaseMs.connect),
        banner: within(phaseMs.banner),
        ehlo: within(phaseMs.ehlo),
        tls: within(Math.min(phaseMs.tls, phaseMs.connect)),
      },
      ...(settings.localAddress === null ? {} : { localAddress: settings.localAddress }),
    })
    const refusal = await session.open(recorder)
    if (!refusal) return session
    if (refusal.kind !== 'failed') return refusal
    if (refusal.phase === 'tls' && !plain && now() < deadline) {
      withoutTls.add(address)
      return connectTo(host, address, deadline, recorder)
    }
    if (refusal.phase === 'connect' || refusal.phase === 'banner') silent.add(address)
    return { ...refusal, error: `${host}[${address}]: ${refusal.error}` }
  }

  return {
    /** Like `MailTransport.send`, to the hosts of the recipient's domain in their order. */
    async send(
      hosts: readonly string[],
      ...message: Parameters<MailTransport['send']>
    ): Promise<Outcome> {
      usedAt = now()
      if (now() < pace.restUntil || isProbing()) return untried()
      const outcome = await pool.send((recorder) => open(hosts, recorder), ...message)
      // The server requires TLS, which failed before: that is a temporary fault of the session, not a rejection.
      if (outcome.kind === 'rejected' && outcome.code === 530 && withoutTls.size() > 0) {
        withoutTls.clear()
        return {
          kind: 'failed',
          phase: 'tls',
          error: `TLS failed, and is required: ${outcome.reply}`,
        }
      }
      return outcome
    },
    close: pool.close,
    /**
     * Whether it may be dropped from memory: it has no connection and no message, does not rest, and was unused
     * for `sinceMs`.
     */
    forgettable: (sinceMs: number) => {
      const { busy, idle, waiting } = pool.size()
      const quiet = busy + idle + waiting === 0 && now() >= pace.restUntil
      return quiet && now() - usedAt >= sinceMs
    },
    state: () => ({ ...pool.size(), limit: pace.limit, restsUntil: pace.restUntil }),
  }
}

function wordsOf(outcome: Outcome): string {
  if (outcome.kind === 'failed') return `${outcome.phase}: ${outcome.error}`
  return outcome.kind === 'rejected' ? `${outcome.phase}: ${outcome.reply}` : outcome.kind
}

/** A set of addresses that forgets each after `forMs`. */
function createMemory(forMs: number, now: () => number) {
  const until = new Map<string, number>()
  return {
    has: (address: string) => (until.get(address) ?? 0) > now(),
    add(address: string) {
      for (const [known, end] of until) if (end <= now()) until.delete(known)
      until.set(address, now() + forMs)
    },
    size: () => until.size,
    clear: () => until.clear(),
  }
}
