// Reads the public key of a DKIM record (RFC 6376 section 3.6.1).
import { createPublicKey, type KeyObject } from 'node:crypto'
import { readTags } from './tags.ts'

/** RFC 8301 section 3.2: shorter keys count for nothing. */
const RSA_BITS_MIN = 1024
/** What stands before the 32 bytes of an ed25519 key in SPKI (RFC 8410). */
const ED25519_SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/**
 * The key of a record; null for a malformed, revoked (`p=`), too short or testing (`t=y`) one, and for one that is for
 * another algorithm or use.
 * @param record the text of the TXT record
 * @param isSub whether the signature's i= names a domain below its d=, which `t=s` forbids
 */
export function readPublicKey(
  record: string,
  algorithm: 'rsa' | 'ed25519',
  isSub: boolean,
): KeyObject | null {
  const tags = readTags(record)
  if (!tags || (tags.get('v') ?? 'DKIM1') !== 'DKIM1') return null
  const listed = (tag: string) =>
    tags
      .get(tag)
      ?.split(':')
      .map((entry) => entry.trim().toLowerCase())
  const allows = (tag: string, wanted: string) => {
    const list = listed(tag)
    return !list || list.includes(wanted) || (tag === 's' && list.includes('*'))
  }
  const flags = listed('t') ?? []
  if ((tags.get('k') ?? 'rsa').toLowerCase() !== algorithm) return null
  if (!allows('h', 'sha256') || !allows('s', 'email')) return null
  if (flags.includes('y') || (flags.includes('s') && isSub)) return null
  const bytes = Buffer.from((tags.get('p') ?? '').replace(/\s/g, ''), 'base64')
  return algorithm === 'rsa' ? rsaKey(bytes) : ed25519Key(bytes)
}

/** The record has SPKI; some have the bare key of PKCS#1. */
function rsaKey(bytes: Buffer): KeyObject | null {
  const key = load(bytes, 'spki') ?? load(bytes, 'pkcs1')
  const bits = key?.asymmetricKeyDetails?.modulusLength ?? 0
  return key?.asymmetricKeyType === 'rsa' && bits >= RSA_BITS_MIN ? key : null
}

function ed25519Key(bytes: Buffer): KeyObject | null {
  return bytes.length === 32 ? load(Buffer.concat([ED25519_SPKI, bytes]), 'spki') : null
}

function load(key: Buffer, type: 'spki' | 'pkcs1'): KeyObject | null {
  try {
    return createPublicKey({ key, format: 'der', type })
  } catch {
    return null
  }
}
