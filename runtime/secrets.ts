// What is made with SECRET_KEY: MACs, sealed texts, encrypted keys. Each purpose has a key of its own.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import type { Mac } from '../rules/mac.ts'
import type { KeyPurpose } from '../rules/wire.ts'

const KEY_BYTES = 32
const SEAL_MAC_BYTES = 16
const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + NONCE_BYTES + TAG_BYTES

export interface Secrets {
  /** The MAC of one purpose; `mail/` takes it as it is. */
  mac(purpose: KeyPurpose): Mac
  /**
   * Signs a text: base64url of a 128-bit MAC and the text. It is signed, not hidden.
   * @param context what it is bound to (a workspace, a list and its filter); not part of the result
   */
  seal(purpose: KeyPurpose, text: string, context?: string): string
  /** The text of a seal; null when it is malformed, forged, or of another purpose or context. Constant time. */
  open(purpose: KeyPurpose, token: string, context?: string): string | null
  /** AES-256-GCM. @returns version (1 byte), nonce (12), tag (16), ciphertext */
  encrypt(purpose: KeyPurpose, plain: Buffer): Buffer
  /** What `encrypt` was given. @throws SecretError when it was made with another SECRET_KEY or has been altered */
  decrypt(purpose: KeyPurpose, encrypted: Buffer): Buffer
}

/** Encrypted bytes do not open: another SECRET_KEY made them, or they are damaged. */
export class SecretError extends Error {
  override name = 'SecretError'
}

/** @param secretKey SECRET_KEY, 32 bytes; keys are derived from it by HKDF-SHA256 (RFC 5869) */
export function createSecrets(secretKey: Buffer): Secrets {
  const keys = new Map<KeyPurpose, Buffer>()
  const keyOf = (purpose: KeyPurpose): Buffer => {
    const known = keys.get(purpose)
    if (known) return known
    const key = Buffer.from(hkdfSync('sha256', secretKey, 'dripline', purpose, KEY_BYTES))
    keys.set(purpose, key)
    return key
  }
  const macOf = (purpose: KeyPurpose, bytes: Buffer | string, length_bytes: number) =>
    createHmac('sha256', keyOf(purpose)).update(bytes).digest().subarray(0, length_bytes)

  return {
    mac: (purpose) => (bytes, length_bytes) => macOf(purpose, bytes, length_bytes),

    seal(purpose, text, context = '') {
      const bytes = Buffer.from(text, 'utf8')
      const tag = macOf(purpose, bound(context, bytes), SEAL_MAC_BYTES)
      return Buffer.concat([tag, bytes]).toString('base64url')
    },

    open(purpose, token, context = '') {
      const bytes = Buffer.from(token, 'base64url')
      // The decoder skips what it does not know: only the one canonical spelling is taken.
      if (bytes.length < SEAL_MAC_BYTES || bytes.toString('base64url') !== token) return null
      const text = bytes.subarray(SEAL_MAC_BYTES)
      const expected = macOf(purpose, bound(context, text), SEAL_MAC_BYTES)
      const isOurs = timingSafeEqual(expected, bytes.subarray(0, SEAL_MAC_BYTES))
      return isOurs ? text.toString('utf8') : null
    },

    encrypt(purpose, plain) {
      const version = Buffer.of(VERSION)
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keyOf(purpose), nonce)
      cipher.setAAD(version)
      const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()])
      return Buffer.concat([version, nonce, cipher.getAuthTag(), ciphertext])
    },

    decrypt(purpose, encrypted) {
      if (encrypted.length <= HEADER_BYTES || encrypted[0] !== VERSION) {
        throw new SecretError('the secret is not in a known form')
      }
      const nonce = encrypted.subarray(1, 1 + NONCE_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', keyOf(purpose), nonce, {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(encrypted.subarray(0, 1))
      decipher.setAuthTag(encrypted.subarray(1 + NONCE_BYTES, HEADER_BYTES))
      try {
        return Buffer.concat([decipher.update(encrypted.subarray(HEADER_BYTES)), decipher.final()])
      } catch {
        throw new SecretError('the secret does not open with this SECRET_KEY')
      }
    },
  }
}

/** The context goes first, with its length, so that it cannot run into the text. */
function bound(context: string, text: Buffer): Buffer {
  const prefix = Buffer.from(context, 'utf8')
  const length = Buffer.alloc(4)
  length.writeUInt32BE(prefix.length)
  return Buffer.concat([length, prefix, text])
}
