// One destination of direct delivery: the mail servers that a group of domains shares, with its connections and its pace.
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
  /** For one connection, over all hosts and addresses that are tried. */
  openMs: number
  /** How long a message waits for a connection. */
  waitMs: number
  connections: number
  /** 0 ≤ x < 1 */
  random: () => number
  tlsOptions: ConnectionOptions
  now: () => number
  /** The addresses of a host, or why there are none. */
  addressesOf: (host: string) => Promise<{ addresses: string[]; error: string }>
}

export type Destination = ReturnType<typeof createDestination>

/** Addresses tried for one connection at most. */
const ADDRESSES_MAX = 5
/** How long an address that did not answer comes last, and one whose TLS failed is spoken to without. */
const AVOID_MS = 60_000
const WITHOUT_TLS_MS = 10 * 60_000
/** Messages that wait for each connection, of a destination that takes mail and of one that has not been reached yet. */
const WAITING = { reached: 10, unproven: 4 }
/** What comes back after a rest comes over this time, not all at once. */
const SPREAD_MS = 10_000
/** How soon others may ask what became of the one that went ahead; to twice as much. */
const PROBE_MS = 5_000

/**
 * Makes a destination without connections: they are opened for its mail, as many as its pace allows. One connection
 * is tried over the hosts in the order given, and at most five of their addresses.
 */
export function createDestination(settings: DestinationSettings) {
  const { now, phaseMs, random } = settings
  const silent = createMemory(AVOID_MS, now)
  const withoutTls = createMemory(WITHOUT_TLS_MS, now)
  let pace = startPace(settings.connections)
  let usedAt = now()
  let lastRefusal = ''
  /** False before the first connection, and when none could be made and none was left. */
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

  /** After a rest one message goes ahead, and the others do not wait for what becomes of it. */
  function isProbing(): boolean {
    const { busy, connected } = pool.size()
    return pace.rests > 0 && busy > 0 && connected === 0
  }

  /** A connection to the first of the hosts that takes one, or what the servers said. */
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
      // What a server said tells more than that another one said nothing.
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
   * Opportunistic security (RFC 7435): TLS where it is offered, whoever the certificate names, and the message in
   * the clear, on a new connection, where TLS fails; mail that nobody can read on the way is not worth losing it.
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
    /** As `MailTransport.send`, to hosts in the order of the recipient's domain. */
    async send(
      hosts: readonly string[],
      ...message: Parameters<MailTransport['send']>
    ): Promise<Outcome> {
      usedAt = now()
      if (now() < pace.restUntil || isProbing()) return untried()
      const outcome = await pool.send((recorder) => open(hosts, recorder), ...message)
      // A server that insists on TLS, which failed: that is the session's fault, and may pass.
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
    /** Whether it may be dropped from memory: it has no connection, no mail and no rest, and was unused for `sinceMs`. */
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

/** Addresses that something is remembered of for a while. */
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
