// The tokens of pixels and tracked links: which delivery, which link, and a MAC; short, and safe in a URL.
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Mac } from '../../rules/mac.ts'

const OPEN = 1
const CLICK = 2
const MAC_BYTES = 16
/** Kind (1), delivery (6), and of a click the link's place (2); the MAC comes after. */
const BODY_BYTES = { [OPEN]: 7, [CLICK]: 9 } as const

export type TrackingToken =
  | { kind: 'open'; deliveryId: number }
  | { kind: 'click'; deliveryId: number; index: number }

/** The token of a delivery's pixel: 31 characters of base64url. @param deliveryId below 2^48 */
export function openToken(mac: Mac, deliveryId: number): string {
  const body = Buffer.alloc(BODY_BYTES[OPEN])
  body.writeUInt8(OPEN, 0)
  body.writeUIntBE(deliveryId, 1, 6)
  return sign(mac, body)
}

/**
 * The token of a link of a delivery: 34 characters of base64url.
 * @param index place of the target among the email's, below 65,536
 */
export function clickToken(mac: Mac, deliveryId: number, index: number): string {
  const body = Buffer.alloc(BODY_BYTES[CLICK])
  body.writeUInt8(CLICK, 0)
  body.writeUIntBE(deliveryId, 1, 6)
  body.writeUInt16BE(index, 7)
  return sign(mac, body)
}

/** What a token says; null when it is malformed or forged. Constant time over the MAC. */
export function readTrackingToken(mac: Mac, token: string): TrackingToken | null {
  if (!/^[\w-]{31,34}$/.test(token)) return null
  const bytes = Buffer.from(token, 'base64url')
  // the decoder drops spare bits: only the one canonical spelling is taken
  if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== token) return null
  const body = bytes.subarray(0, -MAC_BYTES)
  if (!timingSafeEqual(mac(body, MAC_BYTES), bytes.subarray(-MAC_BYTES))) return null
  const kind = body.readUInt8(0)
  if (kind === OPEN && body.length === BODY_BYTES[OPEN]) {
    return { kind: 'open', deliveryId: body.readUIntBE(1, 6) }
  }
  if (kind === CLICK && body.length === BODY_BYTES[CLICK]) {
    return { kind: 'click', deliveryId: body.readUIntBE(1, 6), index: body.readUInt16BE(7) }
  }
  return null
}

function sign(mac: Mac, body: Buffer): string {
  return Buffer.concat([body, mac(body, MAC_BYTES)]).toString('base64url')
}

/** A 128-bit random token: 22 characters of base64url. */
export function newOpaqueToken(): string {
  return randomBytes(16).toString('base64url')
}
