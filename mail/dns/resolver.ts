// DNS look-ups whose answers are data: "there is no record" differs from "the DNS did not answer".
import { Resolver } from 'node:dns/promises'
import { domainToASCII } from 'node:url'

export type DnsAnswer<T> =
  | { kind: 'ok'; records: T[] }
  /** The name exists, but has no record of this type. */
  | { kind: 'nodata' }
  /** NXDOMAIN: the name does not exist, or is too long to exist (RFC 1035 section 2.3.4). */
  | { kind: 'nxdomain' }
  /** A server answered SERVFAIL, REFUSED, FORMERR or something malformed; `error` names it. */
  | { kind: 'servfail'; error: string }
  /** No server answered. */
  | { kind: 'timeout'; error: string }

export interface MxRecord {
  priority: number
  /** '' for the root: a null MX (RFC 7505). */
  exchange: string
}

export interface SoaRecord {
  /** The zone's name: the requested name, or a parent. */
  zone: string
  nsname: string
  hostmaster: string
  serial: number
}

/** DNS look-ups. Names may be internationalised or have underscores. No function throws. */
export interface Dns {
  mx(name: string): Promise<DnsAnswer<MxRecord>>
  a(name: string): Promise<DnsAnswer<string>>
  aaaa(name: string): Promise<DnsAnswer<string>>
  /** Each record as one text, its chunks joined. */
  txt(name: string): Promise<DnsAnswer<string>>
  cname(name: string): Promise<DnsAnswer<string>>
  /** The SOA record of the zone that contains the name. */
  soa(name: string): Promise<DnsAnswer<SoaRecord>>
}

export interface DnsOptions {
  /** `ip` or `ip:port`, `[ip]:port` for IPv6; empty or absent: the system's resolvers. */
  servers?: readonly string[]
  /** Timeout of the first question to a server; it doubles with each further try. */
  timeoutMs?: number
  /** How often each server is asked. */
  tries?: number
  /** How long cached answers are used, within their TTL; 0: never. */
  renewMs?: number
}

const TIMEOUT_MS = 4_000
const TRIES = 2
const RENEW_MS = 60_000

/** Codes of c-ares (node:dns) that do not mean an error of a server. */
const kindOfCode: Record<string, 'nodata' | 'nxdomain' | 'timeout'> = {
  ENODATA: 'nodata',
  ENOTFOUND: 'nxdomain',
  EBADNAME: 'nxdomain',
  ETIMEOUT: 'timeout',
  ECONNREFUSED: 'timeout',
  ECANCELLED: 'timeout',
}

/** @throws Error if `servers` has an entry that is not an IP address */
export function createDns(options: DnsOptions = {}): Dns {
  const { servers = [], timeoutMs = TIMEOUT_MS, tries = TRIES, renewMs = RENEW_MS } = options
  const create = () => {
    const resolver = new Resolver({ timeout: timeoutMs, tries })
    if (servers.length > 0) resolver.setServers(servers)
    return resolver
  }
  let current = create()
  let renewAt = performance.now() + renewMs

  /** c-ares caches every answer for its whole TTL and without a limit of number, so it is replaced regularly. */
  const currentResolver = () => {
    if (performance.now() >= renewAt) {
      current = create()
      renewAt = performance.now() + renewMs
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

/** The name in lower case and without the final dot; '' if it is not a name. */
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
