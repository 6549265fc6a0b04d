// Tokens of pixels and tracked links: delivery, link and a MAC, as short text for a URL.

import type { Mac, MacCheck } from '../../rules/mac.ts'
import { copyToken } from '../../rules/wire.ts'
import { createRandomPool } from '../../runtime/randomPool.ts'

const OPEN = 1
const CLICK = 2
const MAC_BYTES = 16
/** Bytes: kind (1), delivery (6), and for a click the link's index (2). The MAC follows. */
const BODY_BYTES = { [OPEN]: 7, [CLICK]: 9 } as const

export type TrackingToken =
  | { kind: 'open'; deliveryId: number }
  | { kind: 'click'; deliveryId: number; index: number }

/** The token of a delivery's pixel: 31 base64url characters. @param deliveryId below 2^48 */
export function openToken(mac: Mac, deliveryId: number): string {
  const body = Buffer.alloc(BODY_BYTES[OPEN])
  body.writeUInt8(OPEN, 0)
  body.writeUIntBE(deliveryId, 1, 6)
  return sign(mac, body)
}

/**
 * The token of a link of a delivery: 34 base64url characters.
 * @param index of the target among the email's link targets, below 65,536
 */
export function clickToken(mac: Mac, deliveryId: number, index: number): string {
  const body = Buffer.alloc(BODY_BYTES[CLICK])
  body.writeUInt8(CLICK, 0)
  body.writeUIntBE(deliveryId, 1, 6)
  body.writeUInt16BE(index, 7)
  return sign(mac, body)
}

/** Reads a token; null if it is malformed or forged. The MAC is compared in constant time. */
export function readTrackingToken(check: MacCheck, token: string): TrackingToken | null {
  if (!/^[\w-]{31,34}$/.test(token)) return null
  const bytes = Buffer.from(token, 'base64url')
  // the decoder ignores spare bits, so only the canonical spelling is accepted
  if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== token) return null
  const body = bytes.subarray(0, -MAC_BYTES)
  if (!check(body, bytes.subarray(-MAC_BYTES))) return null
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

const TOKEN_BYTES = 16
const drawn = Buffer.alloc(TOKEN_BYTES)
const draw = createRandomPool(TOKEN_BYTES)

/** Makes a random 128-bit token: 22 base64url characters. */
export function newOpaqueToken(): string {
  draw(drawn)
  return drawn.toString('base64url')
}

interface Content {
  subject: string
  html: string | null
  text: string | null
}

/**
 * The content of a mail with links that unsubscribe nobody.
 * @param token of its links, made by `newOpaqueToken`: it stands the same in a link that is escaped or encoded
 */
export function withoutToken<T extends Content>(content: T, token: string): T {
  const without = (text: string) => text.replaceAll(token, copyToken)
  return {
    ...content,
    subject: without(content.subject),
    html: content.html === null ? null : without(content.html),
    text: content.text === null ? null : without(content.text),
  }
}
