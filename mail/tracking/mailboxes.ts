// Addresses of this service in sent mail: return paths with a MAC (VERP), and addresses for unsubscribing by mail.
import { timingSafeEqual } from 'node:crypto'
import type { Mac } from '../../rules/mac.ts'

const VERP_MAC_BYTES = 10
const MAILBOX_LOCAL_PART = /^u\+([0-9a-f]{32})$/
const VERP_LOCAL_PART = /^b\+([1-9][0-9]{0,15})\.([0-9a-f]{20})$/

/**
 * The return path of a delivery, the same for every attempt: `b+<id>.<mac>@<domain>`. The MAC is 80 bits in hex,
 * because servers on the way may change the case of a local part.
 */
export function verpAddress(mac: Mac, deliveryId: number, mailFromDomain: string): string {
  return `b+${deliveryId}.${verpMac(mac, String(deliveryId), mailFromDomain)}@${mailFromDomain}`
}

/** The delivery of a return path; null if the address is not a valid return path. Constant time. */
export function parseVerp(mac: Mac, address: string): { deliveryId: number } | null {
  const at = address.lastIndexOf('@')
  const parts = VERP_LOCAL_PART.exec(address.slice(0, at).toLowerCase())
  const [, id, tag] = parts ?? []
  if (at < 0 || id === undefined || tag === undefined) return null
  const expected = Buffer.from(verpMac(mac, id, address.slice(at + 1)), 'latin1')
  return timingSafeEqual(expected, Buffer.from(tag, 'latin1')) ? { deliveryId: Number(id) } : null
}

function verpMac(mac: Mac, id: string, domain: string): string {
  return mac(`${id}@${domain.toLowerCase()}`, VERP_MAC_BYTES).toString('hex')
}

/**
 * The address of List-Unsubscribe's mailto (RFC 2369): `u+<token>@<domain>`, the token's 128 bits in hex, because
 * servers on the way may change the case of a local part.
 * @param token one of `newOpaqueToken`
 */
export function unsubscribeMailbox(token: string, mailFromDomain: string): string {
  return `u+${Buffer.from(token, 'base64url').toString('hex')}@${mailFromDomain}`
}

/** The unsubscribe token in such an address; null if it is not one. The caller still has to look up the token. */
export function parseUnsubscribeMailbox(address: string): string | null {
  const at = address.lastIndexOf('@')
  const hex = MAILBOX_LOCAL_PART.exec(address.slice(0, at).toLowerCase())?.[1]
  return at < 0 || hex === undefined ? null : Buffer.from(hex, 'hex').toString('base64url')
}
