// Direct delivery: each message goes to the mail servers of its recipient's domain. Domains at the same provider, or with
// the same servers, are one destination.
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { addressDomain } from '../../rules/addresses.ts'
import { connectionsTo } from '../../rules/mail/providers.ts'
import type { Believed } from '../dns/doubtedResolver.ts'
import {
  doubtedResolverRejection,
  findHostAddresses,
  findMxHosts,
  type MxHosts,
  nullMxRejection,
  unknownDomainRejection,
} from '../dns/mxHosts.ts'
import type { Dns } from '../dns/resolver.ts'
import type { MailTransport, Outcome } from '../transport.ts'
import { createDestination, DESTINATION_WAITING, type Destination } from './destination.ts'
import { createDestinationKeys } from './destinationKeys.ts'
import { busy, failedToConnect } from './outcomes.ts'
import { startPace } from './pace.ts'
import { roomFor } from './paced.ts'
import { createPlaces } from './places.ts'
import { createRooms } from './rooms.ts'
import { defaultTimeouts, type SmtpTimeouts, toPhaseMs } from './timeouts.ts'

interface MxTimeouts extends SmtpTimeouts {
  /** Time to open one connection, over all hosts and addresses that are tried. */
  openMs: number
  /** How long a message waits for a connection to its destination. */
  waitMs: number
  /** A connection that is not open after this time leaves its place to others until it is. */
  slowMs: number
}

export interface MxOptions {
  /** With a cache (mail/dns/cache.ts), because it is asked for every message. */
  dns: Dns
  /** Asked whether a domain that is not found is missing, or the resolver is doubted; absent: it is missing. */
  believed?: Believed
  /** This service's name in EHLO. An MX of this name is this service. */
  ehloName: string
  /** 25, except in tests. */
  port?: number
  /** The most connections to one destination; absent: what is known of the provider. */
  connections?: number
  /** The most connections to all destinations together. */
  connectionsInAll?: number
  /**
   * Called when the destination of a recipient's domain was found, if it is new or has changed, and once a day while the
   * domain gets mail: a provider, or addresses joined by spaces, of some 200 characters at most. Returns false if it could
   * not take that now: then it is told again with the next mail. Must not throw.
   */
  onDestination?: (domain: string, destination: string) => boolean
  /** Local address to send from. Hosts of the other IP family cannot be reached then. */
  localAddress?: string
  /** Allows private and loopback addresses. */
  allowPrivate?: boolean
  timeouts?: Partial<MxTimeouts>
  tls?: ConnectionOptions
  random?: () => number
  /** ms of a clock that nobody sets, as rests and what is remembered are measured by it; absent: `performance.now`. */
  now?: () => number
}

/** The state of one destination, for operators. */
export interface DestinationState {
  /** Its provider, or its addresses, sorted. */
  group: string
  busy: number
  connected: number
  idle: number
  waiting: number
  /** Connections that are allowed now. */
  limit: number
  /** When it is tried again, ms of the transport's clock; in the past if it does not rest. */
  restsUntil: number
}

export interface MxTransport extends MailTransport {
  destinations(): DestinationState[]
}

const SMTP_PORT = 25
const CONNECTIONS_IN_ALL = 100
const OPEN_MS = 120_000
const WAIT_MS = 30_000
/** Short, because many destinations get only one message. */
const IDLE_MS = 5_000
const FORGET_MS = 15 * 60_000
const FORGET_SOON_MS = 60_000
/** Beyond so many destinations, of some 8 KB each, those that are unused are dropped soon: a list of companies may have a hundred thousand. */
const MANY = 2_000
const SWEEP_MS = 60_000
const CLOSED_MS = 1_000

/** Weak TLS is allowed, because the alternative is no encryption. */
const lenientTls: ConnectionOptions = { minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' }

/**
 * Makes the transport of direct delivery (RFC 5321 section 5.1). Domains at the same provider, or with the same
 * addresses, share a destination, which has its connections and its pace. A destination that is unused for 15 minutes is dropped; where
 * there are over 2,000, after a minute. Call `close` before the process ends.
 */
export function createMxTransport(options: MxOptions): MxTransport {
  const { dns, allowPrivate = false, random = Math.random } = options
  const believed: Believed = options.believed ?? (async (found) => found)
  const now = options.now ?? (() => performance.now())
  const timeouts = {
    ...defaultTimeouts,
    idleMs: IDLE_MS,
    openMs: OPEN_MS,
    waitMs: WAIT_MS,
    ...options.timeouts,
  }
  const localAddress = options.localAddress ?? null
  const family = isIP(localAddress ?? '') as 0 | 4 | 6
  const ownNames = [options.ehloName.toLowerCase()]
  const settings = {
    port: options.port ?? SMTP_PORT,
    ehloName: options.ehloName,
    localAddress,
    phaseMs: toPhaseMs(timeouts),
    idleMs: timeouts.idleMs,
    openMs: timeouts.openMs,
    waitMs: timeouts.waitMs,
    places: createPlaces(options.connectionsInAll ?? CONNECTIONS_IN_ALL, options.timeouts?.slowMs),
    random,
    tlsOptions: { ...lenientTls, ...options.tls },
    now,
    addressesOf: (host: string) => findHostAddresses(dns, host, { allowPrivate, family }),
  }
  const destinations = new Map<string, Destination>()
  const keys = createDestinationKeys(dns, options.onDestination ?? (() => true), now)
  const most = (key: string) => options.connections ?? connectionsTo(key)
  const unproven = roomFor(startPace(most('')).limit, {
    waiting: DESTINATION_WAITING,
    places: settings.places,
  })
  const rooms = createRooms(unproven, now)
  let sweptAt = now()
  let closed = false

  function destinationOf(key: string): Destination {
    if (now() - sweptAt >= SWEEP_MS) sweep()
    const known = destinations.get(key)
    if (known) return known
    const onRoom = () => rooms.update(key, destination)
    const destination = createDestination(settings, { key, connections: most(key), onRoom })
    destinations.set(key, destination)
    onRoom()
    return destination
  }

  function sweep(): void {
    sweptAt = now()
    const unused_ms = destinations.size > MANY ? FORGET_SOON_MS : FORGET_MS
    for (const [key, destination] of destinations) {
      if (!destination.forgettable(unused_ms)) continue
      destinations.delete(key)
      rooms.forget(key)
    }
  }

  return {
    async send(envelope, message, beforeDot, trace) {
      try {
        const domain = addressDomain(envelope.to).toLowerCase()
        const looked = await findMxHosts(dns, domain, { ownNames, random })
        const found = await believed(looked, domain, addressDomain(envelope.from))
        if (trace) trace.domainExists = existsBy(found)
        if (found.kind !== 'hosts') return outcomeOf(found)
        const { key, own, isFound } = await keys.find(domain, found)
        if (closed) return busy('the transport is closed', CLOSED_MS)
        if (isFound && envelope.mayGoTo?.(key) === false) {
          return { ...busy('its destination is sent to elsewhere', 0), elsewhere: key }
        }
        const hosts = { names: found.names, group: found.group, own }
        return await destinationOf(key).send(hosts, envelope, message, beforeDot, trace)
      } catch (err) {
        return failedToConnect(String(err))
      }
    },
    rooms: rooms.now,
    async close() {
      closed = true
      await Promise.all([...destinations.values()].map((destination) => destination.close()))
    },
    destinations: () =>
      [...destinations].map(([group, destination]) => ({ group, ...destination.state() })),
  }
}

/** Whether the DNS knows the domain; null: it did not answer, or is doubted. */
function existsBy({ kind }: MxHosts): boolean | null {
  return kind === 'unanswered' || kind === 'doubted' ? null : kind !== 'unknown_domain'
}

function outcomeOf(found: Exclude<MxHosts, { kind: 'hosts' }>): Outcome {
  switch (found.kind) {
    case 'null_mx':
      return nullMxRejection()
    case 'unknown_domain':
    case 'no_server':
      return unknownDomainRejection(found.error)
    case 'doubted':
      return doubtedResolverRejection(found.error)
    case 'no_host':
      return failedToConnect(`the domain of the recipient: ${found.error}`)
    case 'unanswered':
      return failedToConnect(`the DNS did not answer for the domain: ${found.error}`)
  }
}
