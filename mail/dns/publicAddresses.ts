// Decides which IP addresses are public, so that no DNS record and no URL of a customer can make this service connect to an
// internal host (SSRF): for mail servers and for requests of nodes.
import { BlockList, isIP } from 'node:net'

/** IANA's special-purpose registries, IPv4 (RFC 6890 and its successors). */
const blocked4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '169.254.0.0/16', // link-local, and the metadata services of clouds
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
] as const

/** Only 2000::/3 is in use on the public internet; these parts of it are special. */
const blocked6 = [
  '2001::/23', // Teredo, ORCHID, benchmarking
  '2001:db8::/32',
  '2002::/16', // 6to4 leads to any IPv4 address
  '3fff::/20',
] as const

const blocked = new BlockList()
for (const net of [...blocked4, ...blocked6]) {
  const [prefix = '', bits] = net.split('/')
  blocked.addSubnet(prefix, Number(bits), isIP(prefix) === 6 ? 'ipv6' : 'ipv4')
}

const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')
/** NAT64 (RFC 6052), through which an IPv6 network reaches IPv4. */
const nat64 = new BlockList()
nat64.addSubnet('64:ff9b::', 96, 'ipv6')
for (const net of blocked4) {
  const [prefix = '', bits] = net.split('/')
  blocked.addSubnet(`64:ff9b::${prefix}`, 96 + Number(bits), 'ipv6')
}

/**
 * True for an address of the public internet; false for private, loopback, link-local, multicast and other special
 * ones.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !blocked.check(address, 'ipv4')
  if (family !== 6 || blocked.check(address, 'ipv6')) return false
  return globalUnicast.check(address, 'ipv6') || nat64.check(address, 'ipv6')
}
