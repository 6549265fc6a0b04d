// Who counts as one client in limits by address.
import { isIPv6 } from 'node:net'

const GROUPS = 8
/** 64 bits: what one network has, and often one machine (RFC 4291 section 2.5.4, RFC 6177). */
const NETWORK_GROUPS = 4

/**
 * The client that an address belongs to: an IPv4 address stands for itself, also when it is written as IPv6
 * (`::ffff:192.0.2.1`); of an IPv6 address its /64, since whoever has one address has all of them.
 * @param address as a socket reports it; anything that is no address stands for itself
 */
export function clientNetwork(address: string): string {
  const bare = address.replace(/%.*$/, '')
  if (!isIPv6(bare)) return address
  const groups = groupsOf(bare)
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.')
  }
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The parser of URLs writes a dotted end as two groups.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const read = (text: string) =>
    text === '' ? [] : text.split(':').map((part) => parseInt(part, 16))
  const [first, last] = [read(head), read(tail ?? '')]
  return [...first, ...Array<number>(GROUPS - first.length - last.length).fill(0), ...last]
}
