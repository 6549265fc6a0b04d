// Finds the destination of a domain: the provider behind its mail servers, else their addresses.
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { providerOf } from '../../rules/mail/providers.ts'
import { REMEMBERED_AGAIN_MS } from '../../rules/mail/recipientDomains.ts'
import type { Dns } from '../dns/resolver.ts'

export interface FoundHosts {
  /** The most preferred mail hosts, sorted. */
  preferred: readonly string[]
  /** All mail hosts, sorted and joined by spaces. */
  group: string
}

export interface FoundDestination {
  /** `google`, or addresses joined by spaces. While the DNS names no address, the names of the hosts. */
  key: string
  /** Those of the domain's hosts that are the destination: what others say is none of its business. */
  own: readonly string[]
  /** Whether the DNS named an address; if not, the key is not the destination that others find. */
  isFound: boolean
}

export interface DestinationKeys {
  /** The destination of a domain. Nobody is told of one without an address. */
  find(domain: string, hosts: FoundHosts): Promise<FoundDestination>
}

/** Addresses that change in turn do not make another destination within this time. */
const KEEP_MS = 60 * 60_000
/**
 * A domain whose destination has changed is told again only after this time: whoever remembers it moves the waiting mail of
 * the domain, and a domain's owner could let its hosts change in turn. Mail goes to what was found in the meantime.
 */
const TELL_CHANGE_MS = 60 * 60_000
/** The most sets of hosts, of addresses and of domains that are remembered. */
const ENTRIES_MAX = 50_000
/** A longer key is cut, and ends in a hash. */
const KEY_CHARS_MAX = 200

/**
 * @param onFound called when the destination of a domain is new, has changed since it was told an hour ago, or was told a
 *   day ago, as far as that is remembered. What it does not take (false) is told with the next mail.
 */
export function createDestinationKeys(
  dns: Pick<Dns, 'a' | 'aaaa'>,
  onFound: (domain: string, destination: string) => boolean,
  now: () => number,
): DestinationKeys {
  const known = new LRUCache<string, { key: string; until: number }>({ max: ENTRIES_MAX })
  /** The only hosts with these addresses; null: others have them too. */
  const only = new LRUCache<string, { names: string | null }>({ max: ENTRIES_MAX })
  const told = new LRUCache<string, { key: string; at: number }>({ max: ENTRIES_MAX })

  function tell(domain: string, key: string): void {
    const before = told.get(domain)
    // One that is in use is told again, so that whoever remembers it knows that it is used.
    const told_ms = before?.key === key ? REMEMBERED_AGAIN_MS : TELL_CHANGE_MS
    if (before && now() - before.at < told_ms) return
    if (onFound(domain, key)) told.set(domain, { key, at: now() })
  }

  /**
   * The addresses of hosts. They are kept for an hour, since they may change in turn, but not those that other hosts have
   * too: whoever names somebody's addresses, and then their own, would share the connections and the pace of that somebody.
   */
  async function ofAddresses(preferred: readonly string[]): Promise<string | undefined> {
    const names = preferred.join(' ')
    const kept = known.get(names)
    if (kept && now() < kept.until && only.get(kept.key)?.names === names) return kept.key
    const key = (await addressesOf(dns, preferred)) ?? kept?.key
    if (key === undefined) return undefined
    const sharing = only.get(key)
    if (!sharing) only.set(key, { names })
    else if (sharing.names !== names) sharing.names = null
    known.set(names, { key, until: now() + KEEP_MS })
    return key
  }

  return {
    async find(domain, { preferred, group }) {
      const all = group.split(' ')
      const provider = providerOfAll(all)
      const key = provider ?? (await ofAddresses(preferred))
      if (key === undefined) return { key: bounded(group), own: all, isFound: false }
      tell(domain, key)
      return { key, own: provider ? all : preferred, isFound: true }
    },
  }
}

/**
 * The provider that all hosts belong to. A domain with one host of somebody else is no domain of the provider: that host
 * would use the provider's connections.
 */
function providerOfAll(hosts: readonly string[]): string | null {
  const [first, ...others] = hosts
  const provider = first === undefined ? null : providerOf(first)
  return others.every((host) => providerOf(host) === provider) ? provider : null
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
