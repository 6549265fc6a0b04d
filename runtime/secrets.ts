// Everything that uses SECRET_KEY: MACs, sealed texts, encrypted keys. Each purpose has a key of its own.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import type { Mac, MacCheck } from '../rules/mac.ts'
import type { KeyPurpose } from '../rules/wire.ts'

const KEY_BYTES = 32
const SEAL_MAC_BYTES = 16
/** A shorter one could be guessed, and is none of ours. */
const TAG_BYTES_MIN = 10
const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + NONCE_BYTES + TAG_BYTES

export interface Secrets {
  /** The MAC function of one purpose, in the form that `mail/` takes. */
  mac(purpose: KeyPurpose): Mac
  /** Checks what `mac` has made, with this SECRET_KEY or one of before. */
  macCheck(purpose: KeyPurpose): MacCheck
  /**
   * Signs a text: base64url of a 128-bit MAC and the text. The text stays readable.
   * @param context what the seal is valid for (a workspace, a list and its filter); it is not part of the result
   */
  seal(purpose: KeyPurpose, text: string, context?: string): string
  /**
   * The text of a seal, made with this SECRET_KEY or one of before; null if it is malformed, forged, or for another
   * purpose or context. Constant time.
   */
  open(purpose: KeyPurpose, token: string, context?: string): string | null
  /** AES-256-GCM. @returns version (1 byte), nonce (12), tag (16), ciphertext */
  encrypt(purpose: KeyPurpose, plain: Buffer): Buffer
  /** Reverses `encrypt`. @throws SecretError if another SECRET_KEY was used or the bytes were altered */
  decrypt(purpose: KeyPurpose, encrypted: Buffer): Buffer
  /**
   * Encrypts again what a SECRET_KEY of before has encrypted. @returns null if this one has encrypted it
   * @throws SecretError as `decrypt`
   */
  reEncrypt(purpose: KeyPurpose, encrypted: Buffer): Buffer | null
}

/** Encrypted bytes cannot be decrypted: another SECRET_KEY was used, or they are damaged. */
export class SecretError extends Error {
  override name = 'SecretError'
}

/**
 * @param secretKey SECRET_KEY, 32 bytes; keys are derived from it by HKDF-SHA256 (RFC 5869)
 * @param previous keys of before: what they encrypted is still decrypted, and what they signed still recognised
 */
export function createSecrets(secretKey: Buffer, previous: readonly Buffer[] = []): Secrets {
  const keysOf = createKeys(secretKey, previous)
  const macOf = (purpose: KeyPurpose, bytes: Buffer | string, length_bytes: number) =>
    macWith(keysOf(purpose).now, bytes, length_bytes)
  const isMac = (purpose: KeyPurpose, bytes: Buffer | string, tag: Buffer): boolean => {
    if (tag.length < TAG_BYTES_MIN) return false
    let isOurs = false
    // All keys are tried, so that the time says nothing of which one it was.
    for (const key of keysOf(purpose).all) {
      if (timingSafeEqual(macWith(key, bytes, tag.length), tag)) isOurs = true
    }
    return isOurs
  }

  return {
    mac: (purpose) => (bytes, length_bytes) => macOf(purpose, bytes, length_bytes),

    macCheck: (purpose) => (bytes, tag) => isMac(purpose, bytes, tag),

    seal(purpose, text, context = '') {
      const bytes = Buffer.from(text, 'utf8')
      const tag = macOf(purpose, bound(context, bytes), SEAL_MAC_BYTES)
      return Buffer.concat([tag, bytes]).toString('base64url')
    },

    open(purpose, token, context = '') {
      const bytes = Buffer.from(token, 'base64url')
      // The decoder skips unknown characters, so only the canonical spelling is accepted.
      if (bytes.length < SEAL_MAC_BYTES || bytes.toString('base64url') !== token) return null
      const text = bytes.subarray(SEAL_MAC_BYTES)
      const isOurs = isMac(purpose, bound(context, text), bytes.subarray(0, SEAL_MAC_BYTES))
      return isOurs ? text.toString('utf8') : null
    },

    encrypt: (purpose, plain) => encryptWith(keysOf(purpose).now, plain),

    decrypt: (purpose, encrypted) => decryptBy(keysOf(purpose), encrypted).plain,

    reEncrypt(purpose, encrypted) {
      const keys = keysOf(purpose)
      const { plain, isNow } = decryptBy(keys, encrypted)
      return isNow ? null : encryptWith(keys.now, plain)
    },
  }
}

function encryptWith(key: KeyObject, plain: Buffer): Buffer {
  const version = Buffer.of(VERSION)
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(version)
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([version, nonce, cipher.getAuthTag(), ciphertext])
}

/** @throws SecretError */
function decryptBy({ now, all }: Keys, encrypted: Buffer): { plain: Buffer; isNow: boolean } {
  if (encrypted.length <= HEADER_BYTES || encrypted[0] !== VERSION) {
    throw new SecretError('the secret is not in a known form')
  }
  for (const key of all) {
    const plain = decryptWith(key, encrypted)
    if (plain) return { plain, isNow: key === now }
  }
  throw new SecretError('the secret does not open with this SECRET_KEY')
}

/** The keys of one purpose: that of now, and all of them, that of now first. */
interface Keys {
  now: KeyObject
  all: readonly KeyObject[]
}

/** Makes the function that derives the keys of a purpose, once. */
function createKeys(secretKey: Buffer, previous: readonly Buffer[]) {
  const keys = new Map<KeyPurpose, Keys>()
  return (purpose: KeyPurpose): Keys => {
    const known = keys.get(purpose)
    if (known) return known
    const now = derive(secretKey, purpose)
    const derived = { now, all: [now, ...previous.map((secret) => derive(secret, purpose))] }
    keys.set(purpose, derived)
    return derived
  }
}

/** A KeyObject and no bytes: with the bytes of a key Node 24 takes four times as long for a MAC. */
const derive = (secretKey: Buffer, purpose: KeyPurpose): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', secretKey, 'dripline', purpose, KEY_BYTES)))

const macWith = (key: KeyObject, bytes: Buffer | string, length_bytes: number): Buffer =>
  createHmac('sha256', key).update(bytes).digest().subarray(0, length_bytes)

/** null if another key encrypted it, or the bytes were altered. */
function decryptWith(key: KeyObject, encrypted: Buffer): Buffer | null {
  const nonce = encrypted.subarray(1, 1 + NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(encrypted.subarray(0, 1))
  decipher.setAuthTag(encrypted.subarray(1 + NONCE_BYTES, HEADER_BYTES))
  try {
    return Buffer.concat([decipher.update(encrypted.subarray(HEADER_BYTES)), decipher.final()])
  } catch {
    return null
  }
}

/** The bytes to sign: the context with its length first, so that context and text cannot be confused. */
function bound(context: string, text: Buffer): Buffer {
  const prefix = Buffer.from(context, 'utf8')
  const length = Buffer.alloc(4)
  length.writeUInt32BE(prefix.length)
  return Buffer.concat([length, prefix, text])
}
