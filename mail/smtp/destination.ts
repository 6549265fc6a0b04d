// One destination of direct delivery: a provider, or the addresses that a group of domains shares, with its connections
// and pace. Domains of a destination may have mail servers of their own, so a connection serves those that it fits.
import type { ConnectionOptions } from 'node:tls'
import type { Phase } from '../../rules/mail/phases.ts'
import { isProvider } from '../../rules/mail/providers.ts'
import type { MailTransport, Outcome } from '../transport.ts'
import { failedToConnect } from './outcomes.ts'
import { paceEventOf, startPace } from './pace.ts'
import { createPaced } from './paced.ts'
import type { Places } from './places.ts'
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
  /** The places of all destinations. */
  places: Places
  /** 0 ≤ x < 1 */
  random: () => number
  tlsOptions: ConnectionOptions
  now: () => number
  /** Finds the addresses of a host, or says why there are none. */
  addressesOf: (host: string) => Promise<{ addresses: string[]; error: string }>
}

/** The mail servers of a recipient's domain. */
export interface DomainHosts {
  /** In the order in which to try them. */
  names: readonly string[]
  /** The same for all domains with these hosts: a connection to any of them serves all of these domains. */
  group: string
  /** Those of them that are servers of the destination. */
  own: readonly string[]
}

export type Destination = ReturnType<typeof createDestination>

/** Messages that may wait for each connection. More are claimed as soon as these have gone. */
export const DESTINATION_WAITING = 3
/** The most addresses that are tried for one connection. */
const ADDRESSES_MAX = 5
/**
 * How long an address that did not answer is tried last, and how long TLS is not used with an address where it
 * failed.
 */
const AVOID_MS = 60_000
const WITHOUT_TLS_MS = 10 * 60_000
const SPREAD_MS = 10_000
const PROBE_MS = 5_000

/**
 * Makes a destination. Connections are opened when there is mail, as many as its pace allows. Each connection
 * tries the hosts in the given order, and at most five of their addresses.
 * @param key a provider, or the addresses of its hosts, joined by spaces
 * @param connections the most connections
 * @param onRoom called when `room` may have changed
 */
export function createDestination(
  settings: DestinationSettings,
  { key, connections, onRoom }: { key: string; connections: number; onRoom: () => void },
) {
  const { now, phaseMs } = settings
  const silent = createMemory(AVOID_MS, now)
  const withoutTls = createMemory(WITHOUT_TLS_MS, now)
  /** Addresses by which domains have this destination in common. Their servers serve all of these domains. */
  const shared: ReadonlySet<string> = new Set(key.split(' '))
  const servesOf = new WeakMap<Session, string>()
  /**
   * Connections to the destination's own servers, and outcomes of trying to open one. All others say nothing of it: the
   * domain has no address, or further servers that are somebody else's.
   */
  const own = new WeakSet<Session | Outcome>()
  let usedAt = now()
  const paced = createPaced({
    ...settings,
    pace: startPace(connections),
    waiting: DESTINATION_WAITING,
    bounded: true,
    eventOf: paceEventOf,
    concerns: (said) => own.has(said),
    // A provider has many servers, and one that is silent says little of the others.
    oneFirst: !isProvider(key),
    spreadMs: SPREAD_MS,
    probeMs: PROBE_MS,
    onRoom,
  })

  /**
   * Opens a connection to the first host that accepts one, or returns the outcome of trying: of the destination's own
   * servers rather than of others, and a reply, which says more, rather than silence.
   */
  async function open(
    { names, group, own: ownNames }: DomainHosts,
    recorder: Recorder | null,
  ): Promise<Session | Outcome> {
    const deadline = now() + settings.openMs
    let weight = -1
    let said: Outcome = failedToConnect('no host of the domain has an address')
    let tried = 0
    const attempt = async (host: string, address: string): Promise<Session | null> => {
      if (tried >= ADDRESSES_MAX || now() >= deadline) return null
      tried += 1
      const isOwn = ownNames.includes(host)
      const opened = await connectTo(host, address, deadline, recorder)
      if (isOwn) own.add(opened)
      if (!('kind' in opened)) {
        servesOf.set(opened, shared.has(address) ? key : group)
        return opened
      }
      const its = (isOwn ? 2 : 0) + (opened.kind === 'rejected' ? 1 : 0)
      if (its > weight) {
        said = opened
        weight = its
      }
      return null
    }
    const later: [string, string][] = []
    for (const host of names) {
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
    const left = Math.round(deadline - now())
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
    /** Like `MailTransport.send`, to the mail servers of the recipient's domain. */
    async send(
      hosts: DomainHosts,
      ...message: Parameters<MailTransport['send']>
    ): Promise<Outcome> {
      usedAt = now()
      const route = {
        open: (recorder: Recorder | null) => open(hosts, recorder),
        takes: (session: Session) => {
          const serves = servesOf.get(session)
          return serves === key || serves === hosts.group
        },
      }
      const outcome = await paced.send(route, ...message)
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
    close: paced.close,
    /**
     * Whether it may be dropped from memory: it has no connection and no message, does not rest, and was unused
     * for `sinceMs`.
     */
    forgettable: (sinceMs: number) => {
      const { busy, idle, waiting } = paced.state()
      const quiet = busy + idle + waiting === 0 && now() >= paced.restsUntil()
      return quiet && now() - usedAt >= sinceMs
    },
    room: paced.room,
    restsUntil: paced.restsUntil,
    state: paced.state,
  }
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
