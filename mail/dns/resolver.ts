// Asks the DNS: each answer is data, and what says "there is none" is told from what says "ask again".
import { Resolver } from 'node:dns/promises'
import { domainToASCII } from 'node:url'

export type DnsAnswer<T> =
  | { kind: 'ok'; records: T[] }
  /** The name exists, a record of this type does not. */
  | { kind: 'nodata' }
  /** NXDOMAIN: the name does not exist, or cannot (RFC 1035 section 2.3.4). */
  | { kind: 'nxdomain' }
  /** A server answered SERVFAIL, REFUSED, FORMERR or nonsense; `error` names it. */
  | { kind: 'servfail'; error: string }
  /** No server answered. */
  | { kind: 'timeout'; error: string }

export interface MxRecord {
  priority: number
  /** '' for the root: a null MX (RFC 7505). */
  exchange: string
}

export interface SoaRecord {
  /** Where it was found: the name that was asked for, or a parent. */
  zone: string
  nsname: string
  hostmaster: string
  serial: number
}

/** Names may be internationalised; underscores are fine. No function throws. */
export interface Dns {
  mx(name: string): Promise<DnsAnswer<MxRecord>>
  a(name: string): Promise<DnsAnswer<string>>
  aaaa(name: string): Promise<DnsAnswer<string>>
  /** The chunks of each record joined. */
  txt(name: string): Promise<DnsAnswer<string>>
  cname(name: string): Promise<DnsAnswer<string>>
  /** The SOA of the zone that the name is in: one record, found by walking up. */
  soa(name: string): Promise<DnsAnswer<SoaRecord>>
}

export interface DnsOptions {
  /** `ip` or `ip:port`, `[ip]:port` for IPv6; empty or absent: the system's resolvers. */
  servers?: readonly string[]
  /** Patience with one server's first answer; each further try has twice as much. */
  timeoutMs?: number
  /** How often each server is asked. */
  tries?: number
  /** How long an answer may be given again, within its TTL; 0 asks anew each time. */
  renewMs?: number
}

const TIMEOUT_MS = 4_000
const TRIES = 2
const RENEW_MS = 60_000

/** Codes of c-ares (node:dns) that mean something else than a server's error. */
const kindOfCode: Record<string, 'nodata' | 'nxdomain' | 'timeout'> = {
  ENODATA: 'nodata',
  ENOTFOUND: 'nxdomain',
  EBADNAME: 'nxdomain',
  ETIMEOUT: 'timeout',
  ECONNREFUSED: 'timeout',
  ECANCELLED: 'timeout',
}

/** @throws Error when `servers` names something that is no IP address */
export function createDns(options: DnsOptions = {}): Dns {
  const { servers = [], timeoutMs = TIMEOUT_MS, tries = TRIES, renewMs = RENEW_MS } = options
  const create = () => {
    const resolver = new Resolver({ timeout: timeoutMs, tries })
    if (servers.length > 0) resolver.setServers(servers)
    return resolver
  }
  let current = create()
  let renewAt = Date.now() + renewMs

  /** c-ares keeps every answer for its whole TTL, however many: a new one forgets them. */
  const currentResolver = () => {
    if (Date.now() >= renewAt) {
      current = create()
      renewAt = Date.now() + renewMs
    }
    return current
  }

  async function ask<T>(
    name: string,
    query: (name: string, resolver: Resolver) => Promise<T[]>,
  ): Promise<DnsAnswer<T>> {
    const ascii = toAscii(name)
    if (ascii === '') return { kind: 'nxdomain' }
    try {
      const records = await query(ascii, currentResolver())
      return records.length > 0 ? { kind: 'ok', records } : { kind: 'nodata' }
    } catch (err) {
      return toAnswer(err)
    }
  }

  const soaAt = (zone: string) =>
    ask(zone, async (name, resolver) => {
      const { nsname, hostmaster, serial } = await resolver.resolveSoa(name)
      return [{ zone: name, nsname, hostmaster, serial }]
    })

  return {
    mx: (name) =>
      ask(name, async (asked, resolver) =>
        (await resolver.resolveMx(asked)).map(({ priority, exchange }) => ({
          priority,
          exchange: exchange.toLowerCase(),
        })),
      ),
    a: (name) => ask(name, (asked, resolver) => resolver.resolve4(asked)),
    aaaa: (name) => ask(name, (asked, resolver) => resolver.resolve6(asked)),
    txt: (name) =>
      ask(name, async (asked, resolver) =>
        (await resolver.resolveTxt(asked)).map((chunks) => chunks.join('')),
      ),
    cname: (name) => ask(name, (asked, resolver) => resolver.resolveCname(asked)),
    async soa(name) {
      const labels = toAscii(name).split('.')
      const first = await soaAt(name)
      let found = first
      while (found.kind === 'nodata' || found.kind === 'nxdomain') {
        labels.shift()
        if (labels.length === 0) return first
        found = await soaAt(labels.join('.'))
      }
      return found
    },
  }
}

/** Lower case, without the root's dot; '' for what is no name. */
function toAscii(name: string): string {
  const bare = name.replace(/\.$/, '')
  return /^\p{ASCII}*$/u.test(bare) ? bare.toLowerCase() : domainToASCII(bare)
}

function toAnswer(err: unknown): DnsAnswer<never> {
  const code = err instanceof Error && 'code' in err ? String(err.code) : String(err)
  const kind = kindOfCode[code] ?? 'servfail'
  if (kind === 'nodata' || kind === 'nxdomain') return { kind }
  return { kind, error: code.replace(/^E/, '') }
}
