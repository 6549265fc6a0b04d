// Finds the mail servers of a recipient's domain (RFC 5321 section 5.1) and the addresses of a server.
import { isIP } from 'node:net'
import type { Rejection } from '../transport.ts'
import { isPublicAddress } from './publicAddresses.ts'
import type { Dns, DnsAnswer, MxRecord } from './resolver.ts'

export type MxHosts =
  /**
   * Host names in the order in which to try them, and the most preferred ones, sorted. `group` is the same for all
   * domains with these hosts.
   */
  | { kind: 'hosts'; names: string[]; preferred: string[]; group: string }
  /** The domain says that it accepts no mail (RFC 7505). */
  | { kind: 'null_mx' }
  /** The DNS does not know the domain. */
  | { kind: 'unknown_domain'; error: string }
  /** The domain exists, and has neither an MX nor an address. */
  | { kind: 'no_server'; error: string }
  /** The domain's records name no usable host, or this server. */
  | { kind: 'no_host'; error: string }
  /** It was not found, by a resolver that finds nothing else either (doubtedResolver.ts). */
  | { kind: 'doubted'; error: string }
  /** The DNS did not answer. */
  | { kind: 'unanswered'; error: string }

/** The most hosts that are tried. A hostile domain could have thousands. */
const HOSTS_MAX = 10

/**
 * Looks up the mail servers of a domain.
 * @param ownNames names of this server: an MX with such a name, and all less preferred ones, are left out
 * @param random 0 ≤ x < 1, spreads mail over equally preferred servers
 */
export async function findMxHosts(
  dns: Dns,
  domain: string,
  { ownNames, random }: { ownNames: readonly string[]; random: () => number },
): Promise<MxHosts> {
  const answer = await dns.mx(domain)
  if (answer.kind === 'ok') return fromRecords(answer.records, ownNames, random)
  if (answer.kind === 'nodata') return implicitMx(dns, domain)
  if (answer.kind === 'nxdomain') return { kind: 'unknown_domain', error: 'NXDOMAIN' }
  return { kind: 'unanswered', error: answer.error }
}

function fromRecords(
  records: readonly MxRecord[],
  ownNames: readonly string[],
  random: () => number,
): MxHosts {
  if (records.length === 1 && records[0]?.exchange === '') return { kind: 'null_mx' }
  const own = records.filter(({ exchange }) => ownNames.includes(exchange))
  // If this server is one of the MX hosts, only more preferred hosts are used, because mail to the others could
  // come back here.
  const limit = Math.min(...own.map(({ priority }) => priority))
  const usable = records.filter(
    ({ exchange, priority }) => exchange !== '' && isIP(exchange) === 0 && priority < limit,
  )
  if (usable.length === 0) {
    const error = own.length > 0 ? 'its MX is this server' : 'its MX names no host'
    return { kind: 'no_host', error }
  }
  const ordered = usable
    .map((record) => ({ ...record, draw: random() }))
    .sort((a, b) => a.priority - b.priority || a.draw - b.draw)
  const best = ordered.filter(({ priority }) => priority === ordered[0]?.priority)
  return hosts(namesOf(ordered), namesOf(best))
}

const namesOf = (records: readonly MxRecord[]) => [
  ...new Set(records.map(({ exchange }) => exchange)),
]

/** A domain without an MX is its own mail server. */
async function implicitMx(dns: Dns, domain: string): Promise<MxHosts> {
  const answer = await lookUpAddresses(dns, domain)
  if (answer.kind === 'ok') return hosts([domain], [domain])
  if (answer.kind === 'servfail' || answer.kind === 'timeout') {
    return { kind: 'unanswered', error: answer.error }
  }
  return { kind: 'no_server', error: 'neither MX nor address' }
}

function hosts(names: string[], preferred: string[]): MxHosts {
  const group = [...names].sort().join(' ')
  const best = [...preferred].sort().slice(0, HOSTS_MAX)
  return { kind: 'hosts', names: names.slice(0, HOSTS_MAX), preferred: best, group }
}

/**
 * The addresses of one mail server, IPv4 before IPv6: sending over IPv6 often lacks a reverse DNS name, and large
 * receivers refuse that.
 * @param family 4 or 6 if only that family can be reached; 0 for both
 * @returns addresses to connect to, or why there are none
 */
export async function findHostAddresses(
  dns: Dns,
  host: string,
  { allowPrivate, family }: { allowPrivate: boolean; family: 0 | 4 | 6 },
): Promise<{ addresses: string[]; error: string }> {
  const answer = await lookUpAddresses(dns, host)
  if (answer.kind !== 'ok') {
    const error = 'error' in answer ? answer.error : 'it has no address'
    return { addresses: [], error }
  }
  const reachable = answer.records.filter((address) => family === 0 || isIP(address) === family)
  const addresses = reachable.filter((address) => allowPrivate || isPublicAddress(address))
  const error = reachable.length === 0 ? `it has no IPv${family} address` : 'it is not public'
  return { addresses, error: addresses.length > 0 ? '' : error }
}

async function lookUpAddresses(dns: Dns, host: string): Promise<DnsAnswer<string>> {
  const [a, aaaa] = await Promise.all([dns.a(host), dns.aaaa(host)])
  const records = [a, aaaa].flatMap((answer) => (answer.kind === 'ok' ? answer.records : []))
  if (records.length > 0) return { kind: 'ok', records }
  // A failed question may have had an address, so the failure counts more than the answer that there is none.
  const failed = [a, aaaa].find(({ kind }) => kind === 'servfail' || kind === 'timeout')
  return failed ?? a
}

const NULL_MX = '556 5.1.10 the domain of the recipient takes no mail (null MX)'
const UNKNOWN_DOMAIN = '512 5.1.2 the domain of the recipient cannot be found'
const DOUBTED_RESOLVER = '451 4.4.3 the DNS finds neither the domain of the recipient nor others'

/** The final rejection for a null MX (RFC 7505 section 4.2), as if the server had refused RCPT. */
export function nullMxRejection(): Rejection {
  return { kind: 'rejected', phase: 'rcpt', code: 556, enhanced: '5.1.10', reply: NULL_MX }
}

/**
 * The rejection for a domain that does not exist in DNS, or has no server there. Its phase is `connect`, so the delivery is deferred,
 * because a fault of a registry or provider can look the same. The text asks for the next attempt in 30 minutes.
 */
export function unknownDomainRejection(error: string): Rejection {
  const reply = `${UNKNOWN_DOMAIN} (${error}); asked again in 30 minutes`
  return { kind: 'rejected', phase: 'connect', code: 512, enhanced: '5.1.2', reply }
}

/**
 * The rejection for a domain that a doubted resolver does not find: it is looked up as often as an unknown domain, and no such look is one of
 * the two by which a domain counts as nonexistent.
 */
export function doubtedResolverRejection(error: string): Rejection {
  const reply = `${DOUBTED_RESOLVER} (${error}); asked again in 30 minutes`
  return { kind: 'rejected', phase: 'connect', code: 451, enhanced: '4.4.3', reply }
}

/** True for a reply of `unknownDomainRejection`, in an outcome or in a stored response. */
export function isUnknownDomain(response: string | null): boolean {
  return response?.startsWith(UNKNOWN_DOMAIN) ?? false
}
