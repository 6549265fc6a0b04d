// DKIM keys: made, encrypted for the database, and loaded as what node:crypto signs with.
import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { promisify } from 'node:util'
import { deriveKey } from '../token.ts'

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + NONCE_BYTES + TAG_BYTES

const generate = promisify(generateKeyPair)

export type DkimKeyType = 'rsa' | 'ed25519'

export interface DkimKeyPair {
  /** For the `p=` of the DNS record: base64 SPKI for RSA, the bare 32 bytes for ed25519 (RFC 8463). */
  publicKey: string
  /** PKCS#8 DER, not encrypted. */
  privateKey: Buffer
}

/** A key could not be read: wrong SECRET_KEY, damaged bytes, or not a key that DKIM knows. */
export class DkimKeyError extends Error {
  override name = 'DkimKeyError'
}

/** A new key pair, made on the thread pool: RSA with 2048 bits, or ed25519. */
export async function generateDkimKey(type: DkimKeyType = 'rsa'): Promise<DkimKeyPair> {
  const pair =
    type === 'rsa' ? await generate('rsa', { modulusLength: 2048 }) : await generate('ed25519')
  const spki = pair.publicKey.export({ type: 'spki', format: 'der' })
  const publicBytes = type === 'rsa' ? spki : spki.subarray(-32)
  return {
    publicKey: publicBytes.toString('base64'),
    privateKey: pair.privateKey.export({ type: 'pkcs8', format: 'der' }),
  }
}

/**
 * Encrypts a private key with AES-256-GCM under a key derived from SECRET_KEY.
 * @returns version (1 byte), nonce (12), tag (16), ciphertext
 */
export function encryptKey(secret: Buffer, plain: Buffer): Buffer {
  const version = Buffer.of(VERSION)
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', deriveKey(secret, 'dkim-key'), nonce)
  cipher.setAAD(version)
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([version, nonce, cipher.getAuthTag(), ciphertext])
}

/**
 * The private key, PKCS#8 DER, of what encryptKey made.
 * @throws DkimKeyError when it was made with another SECRET_KEY or has been altered
 */
export function decryptKey(secret: Buffer, encrypted: Buffer): Buffer {
  if (encrypted.length <= HEADER_BYTES || encrypted[0] !== VERSION) {
    throw new DkimKeyError('the private key is not in a known form')
  }
  const nonce = encrypted.subarray(1, 1 + NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', deriveKey(secret, 'dkim-key'), nonce, {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(encrypted.subarray(0, 1))
  decipher.setAuthTag(encrypted.subarray(1 + NONCE_BYTES, HEADER_BYTES))
  try {
    return Buffer.concat([decipher.update(encrypted.subarray(HEADER_BYTES)), decipher.final()])
  } catch {
    throw new DkimKeyError('the private key does not open with this SECRET_KEY')
  }
}

/**
 * Decrypts and parses a private key. Parsing takes longer than signing: keep the result.
 * @throws DkimKeyError when it cannot be decrypted or is not RSA or ed25519
 */
export function loadKey(secret: Buffer, encrypted: Buffer): KeyObject {
  const der = decryptKey(secret, encrypted)
  let key: KeyObject
  try {
    key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  } catch {
    throw new DkimKeyError('the private key is not PKCS#8')
  }
  if (key.asymmetricKeyType !== 'rsa' && key.asymmetricKeyType !== 'ed25519') {
    throw new DkimKeyError(`DKIM has no signatures with ${key.asymmetricKeyType} keys`)
  }
  return key
}
