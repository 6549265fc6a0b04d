// Secrets that travel: opaque tokens, signed texts, VERP return paths, and the keys behind them.
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

const SEAL_MAC_BYTES = 16
const VERP_MAC_BYTES = 10
const MAILBOX_LOCAL_PART = /^u\+([0-9a-f]{32})$/
const VERP_LOCAL_PART = /^b\+([1-9][0-9]{0,15})\.([0-9a-f]{20})$/

const derivedKeys = new WeakMap<Buffer, Map<string, Buffer>>()

/** A 128-bit random token: 22 characters of base64url. */
export function newOpaqueToken(): string {
  return randomBytes(16).toString('base64url')
}

/**
 * A 32-byte key for one purpose (HKDF-SHA256, RFC 5869), so that no two uses of SECRET_KEY share a key.
 * @param secret SECRET_KEY, 32 bytes; kept as one Buffer, its derived keys are remembered by it
 */
export function deriveKey(secret: Buffer, purpose: string): Buffer {
  let keys = derivedKeys.get(secret)
  if (keys === undefined) {
    keys = new Map()
    derivedKeys.set(secret, keys)
  }
  let key = keys.get(purpose)
  if (key === undefined) {
    key = Buffer.from(hkdfSync('sha256', secret, 'dripline', purpose, 32))
    if (keys.size < 100) keys.set(purpose, key)
  }
  return key
}

function mac(secret: Buffer, purpose: string, bytes: Buffer | string, length: number): Buffer {
  const digest = createHmac('sha256', deriveKey(secret, purpose)).update(bytes).digest()
  return digest.subarray(0, length)
}

/**
 * Signs a text: base64url of a 128-bit MAC and the text. It is signed, not hidden.
 * @param purpose what the text is for, such as `cursor`; a text sealed for one purpose opens for no other
 * @param context what it is bound to (a workspace, a list and its filter); not part of the result
 */
export function seal(secret: Buffer, purpose: string, text: string, context = ''): string {
  const bytes = Buffer.from(text, 'utf8')
  const tag = mac(secret, purpose, sealed(context, bytes), SEAL_MAC_BYTES)
  return Buffer.concat([tag, bytes]).toString('base64url')
}

/** The text of a seal; null when it is malformed, forged, or of another purpose or context. Constant time. */
export function open(secret: Buffer, purpose: string, token: string, context = ''): string | null {
  const bytes = Buffer.from(token, 'base64url')
  // the decoder skips what it does not know: only the one canonical spelling is taken
  if (bytes.length < SEAL_MAC_BYTES || bytes.toString('base64url') !== token) return null
  const text = bytes.subarray(SEAL_MAC_BYTES)
  const expected = mac(secret, purpose, sealed(context, text), SEAL_MAC_BYTES)
  return timingSafeEqual(expected, bytes.subarray(0, SEAL_MAC_BYTES)) ? text.toString('utf8') : null
}

/** The context goes first, with its length, so that it cannot run into the text. */
function sealed(context: string, text: Buffer): Buffer {
  const prefix = Buffer.from(context, 'utf8')
  const length = Buffer.alloc(4)
  length.writeUInt32BE(prefix.length)
  return Buffer.concat([length, prefix, text])
}

/**
 * The return path of a delivery, the same for every attempt: `b+<id>.<mac>@<domain>`. The MAC is
 * 80 bits in hex, since servers on the way may change the case of a local part.
 */
export function verpAddress(secret: Buffer, deliveryId: number, mailFromDomain: string): string {
  return `b+${deliveryId}.${verpMac(secret, String(deliveryId), mailFromDomain)}@${mailFromDomain}`
}

/** The delivery that a bounce came back to; null when the address is not one of ours. Constant time. */
export function parseVerp(secret: Buffer, address: string): { deliveryId: number } | null {
  const at = address.lastIndexOf('@')
  const parts = VERP_LOCAL_PART.exec(address.slice(0, at).toLowerCase())
  const [, id, tag] = parts ?? []
  if (at < 0 || id === undefined || tag === undefined) return null
  const expected = Buffer.from(verpMac(secret, id, address.slice(at + 1)), 'latin1')
  return timingSafeEqual(expected, Buffer.from(tag, 'latin1')) ? { deliveryId: Number(id) } : null
}

function verpMac(secret: Buffer, id: string, domain: string): string {
  return mac(secret, 'verp', `${id}@${domain.toLowerCase()}`, VERP_MAC_BYTES).toString('hex')
}

/**
 * The address of List-Unsubscribe's mailto (RFC 2369): `u+<token>@<domain>`, the token's 128 bits in hex, since servers
 * on the way may change the case of a local part.
 * @param token one of `newOpaqueToken`
 */
export function unsubscribeMailbox(token: string, mailFromDomain: string): string {
  return `u+${Buffer.from(token, 'base64url').toString('hex')}@${mailFromDomain}`
}

/** The unsubscribe token in such an address; null when it is none. The token is to be looked up. */
export function parseUnsubscribeMailbox(address: string): string | null {
  const at = address.lastIndexOf('@')
  const hex = MAILBOX_LOCAL_PART.exec(address.slice(0, at).toLowerCase())?.[1]
  return at < 0 || hex === undefined ? null : Buffer.from(hex, 'hex').toString('base64url')
}
