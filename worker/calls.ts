// What the requests of nodes are made with: the guarded client, and the pauses between two tries.
import { isPublicAddress } from '../mail/dns/publicAddresses.ts'
import { createDns, type Dns } from '../mail/dns/resolver.ts'
import type { Config } from '../runtime/config.ts'
import { createOutbound } from '../runtime/outbound.ts'

/** Of the first question for an address. With the tries of `createDns` a host takes some seconds at most. */
const DNS_TIMEOUT_MS = 2_000

/**
 * The rule against SSRF: private addresses are refused unless the settings allow them. Then names are asked of DNS alone: the look-up of the system takes one
 * of few threads for as long as a name server is silent, and customers choose the names; the worker looks up its own hosts there.
 */
export function createCalls({
  allowPrivateHttp,
  dnsServers,
}: Pick<Config, 'allowPrivateHttp' | 'dnsServers'>) {
  if (allowPrivateHttp) return { outbound: createOutbound({ mayConnect: () => true }), callPace: 1 }
  const dns = createDns({ servers: dnsServers, timeoutMs: DNS_TIMEOUT_MS })
  const lookup = (host: string) => addressesOf(dns, host)
  return { outbound: createOutbound({ mayConnect: isPublicAddress, lookup }), callPace: 1 }
}

/** IPv4 where the host has it. @throws Error when DNS gives no answer; no addresses are one */
async function addressesOf(dns: Dns, host: string): Promise<string[]> {
  const found = await dns.a(host)
  const answer = found.kind === 'nodata' ? await dns.aaaa(host) : found
  if (answer.kind === 'ok') return answer.records
  if (answer.kind === 'nodata' || answer.kind === 'nxdomain') return []
  throw new Error(answer.error)
}
