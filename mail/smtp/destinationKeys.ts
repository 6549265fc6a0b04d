// Finds the destination of a domain: the provider behind its mail servers, else their addresses.
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { providerOf } from '../../rules/mail/providers.ts'
import type { Dns } from '../dns/resolver.ts'

export interface FoundHosts {
  /** The most preferred mail hosts, sorted. */
  preferred: readonly string[]
  /** All mail hosts, sorted and joined by spaces. */
  group: string
}

export interface DestinationKeys {
  /**
   * The destination of a domain: `google`, or addresses joined by spaces. While the DNS names no address it is the names
   * of the hosts, and nobody is told.
   */
  find(domain: string, hosts: FoundHosts): Promise<string>
}

/** Addresses that change in turn do not make another destination within this time. */
const KEEP_MS = 60 * 60_000
/** The most sets of hosts, and of domains, that are remembered. */
const ENTRIES_MAX = 50_000
/** A longer key is cut, and ends in a hash. */
const KEY_CHARS_MAX = 200

/** @param onFound called when the destination of a domain is new, or changed, as far as that is remembered */
export function createDestinationKeys(
  dns: Pick<Dns, 'a' | 'aaaa'>,
  onFound: (domain: string, destination: string) => void,
  now: () => number,
): DestinationKeys {
  const known = new LRUCache<string, { key: string; until: number }>({ max: ENTRIES_MAX })
  const told = new LRUCache<string, string>({ max: ENTRIES_MAX })

  function tell(domain: string, key: string): string {
    if (told.get(domain) !== key) {
      told.set(domain, key)
      onFound(domain, key)
    }
    return key
  }

  return {
    async find(domain, { preferred, group }) {
      const names = preferred.join(' ')
      const kept = known.get(names)
      if (kept && now() < kept.until) return tell(domain, kept.key)
      const key = providerOfAll(preferred) ?? (await addressesOf(dns, preferred)) ?? kept?.key
      if (key === undefined) return bounded(group)
      known.set(names, { key, until: now() + KEEP_MS })
      return tell(domain, key)
    },
  }
}

/** The provider that all hosts belong to: with one host of somebody else, what that one does would count as the provider's. */
function providerOfAll(hosts: readonly string[]): string | null {
  const [first, ...others] = hosts.map(providerOf)
  return first !== undefined && others.every((one) => one === first) ? first : null
}

/** All addresses behind the hosts, as a key; null if there are none, or the DNS did not answer for all hosts. */
async function addressesOf(
  dns: Pick<Dns, 'a' | 'aaaa'>,
  hosts: readonly string[],
): Promise<string | null> {
  const answers = await Promise.all(hosts.flatMap((host) => [dns.a(host), dns.aaaa(host)]))
  if (answers.some(({ kind }) => kind === 'servfail' || kind === 'timeout')) return null
  const addresses = answers.flatMap((answer) => (answer.kind === 'ok' ? answer.records : []))
  return addresses.length === 0 ? null : bounded([...new Set(addresses)].sort().join(' '))
}

function bounded(key: string): string {
  if (key.length <= KEY_CHARS_MAX) return key
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 32)
  return `${key.slice(0, KEY_CHARS_MAX - hash.length - 1)}#${hash}`
}
