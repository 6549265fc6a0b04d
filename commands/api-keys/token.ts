// Makes API keys, and the SHA-256 under which a key is stored and found.
import { hash, randomBytes } from 'node:crypto'

const PREFIX = 'drip_'
/** Characters of a token that a list may show. */
const SHOWN_CHARS = 12

/** A new key: `drip_` and 32 random bytes in base64url. The token itself is shown once and stored nowhere. */
export function newApiKeyToken(): { token: string; prefix: string; hash: Buffer } {
  const token = PREFIX + randomBytes(32).toString('base64url')
  return { token, prefix: token.slice(0, SHOWN_CHARS), hash: hashApiKey(token) }
}

/**
 * The SHA-256 of a token, 32 bytes; the token itself is not stored. It has 256 random bits, so it needs no salt.
 */
export function hashApiKey(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
