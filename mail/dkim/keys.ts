// Makes DKIM keys, and loads stored ones for signing.
import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

const generate = promisify(generateKeyPair)

export type DkimKeyType = 'rsa' | 'ed25519'

export interface DkimKeyPair {
  /** For the `p=` of the DNS record: base64 SPKI for RSA, the bare 32 bytes for ed25519 (RFC 8463). */
  publicKey: string
  /** PKCS#8 DER, not encrypted. */
  privateKey: Buffer
}

/** The bytes are not a key for DKIM. */
export class DkimKeyError extends Error {
  override name = 'DkimKeyError'
}

/** Makes a key pair on the thread pool: RSA with 2048 bits, or ed25519. */
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
 * Parses a private key (PKCS#8 DER). That takes longer than signing, so keep the result.
 * @throws DkimKeyError if it is not RSA or ed25519
 */
export function loadKey(der: Buffer): KeyObject {
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
