// Addresses of this service in sent mail: return paths with a MAC (VERP), and addresses for unsubscribing by mail.
import type { Mac, MacCheck } from '../../rules/mac.ts'

const VERP_MAC_BYTES = 10
const MAILBOX_LOCAL_PART = /^u\+([0-9a-f]{32})$/
const VERP_LOCAL_PART = /^b\+([1-9][0-9]{0,15})\.([0-9a-f]{20})$/

/**
 * The return path of a delivery, the same for every attempt: `b+<id>.<mac>@<domain>`. The MAC is 80 bits in hex,
 * because servers on the way may change the case of a local part.
 */
export function verpAddress(mac: Mac, deliveryId: number, mailFromDomain: string): string {
  const tag = mac(signedText(String(deliveryId), mailFromDomain), VERP_MAC_BYTES).toString('hex')
  return `b+${deliveryId}.${tag}@${mailFromDomain}`
}

/** The delivery of a return path; null if the address is not a valid return path. Constant time. */
export function parseVerp(check: MacCheck, address: string): { deliveryId: number } | null {
  const at = address.lastIndexOf('@')
  const parts = VERP_LOCAL_PART.exec(address.slice(0, at).toLowerCase())
  const [, id, tag] = parts ?? []
  if (at < 0 || id === undefined || tag === undefined) return null
  const isOurs = check(signedText(id, address.slice(at + 1)), Buffer.from(tag, 'hex'))
  return isOurs ? { deliveryId: Number(id) } : null
}

const signedText = (id: string, domain: string) => `${id}@${domain.toLowerCase()}`

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
