// Makes the bytes that are sent of a message that came whole: as it is, with what each mail of ours has.
import { isAscii } from 'node:buffer'
import type { Watched } from '../../rules/watched.ts'
import { relaxedBodyHash } from '../dkim/body.ts'
import { type DkimOptions, signFields } from '../dkim/sign.ts'
import { headerBytes, readHeader } from './header.ts'

/**
 * Adds Feedback-ID and the signatures. The same message gives the same bytes each time.
 * @param watched for each piece of synchronous work
 * @throws DkimError like `signFields`; Error for a message without a readable header, or with half a line end
 */
export async function signCarried(
  message: Buffer,
  feedbackId: string,
  signers: readonly DkimOptions[],
  watched: Watched,
): Promise<Buffer> {
  const header = watched(() => readHeader(message))
  if (typeof header === 'string') throw new Error(header)
  const fields = [...header.fields, { name: 'feedback-id', raw: `Feedback-ID: ${feedbackId}` }]
  const body = message.subarray(header.bodyAt)
  const hash = await relaxedBodyHash(body, watched)
  if (hash === null) throw new Error('a body has a bare CR or LF')
  const signatures = await watched(() => signFields(fields, hash, signers))
  return watched(() =>
    Buffer.concat([Buffer.from(signatures, 'latin1'), headerBytes(fields), body]),
  )
}

/** What a server must take to take this message (RFC 6152, RFC 6531); undefined for one of ASCII alone. */
export type Octets = 'eight_bit' | 'utf8_header' | undefined

export function octetsOf(message: Buffer): Octets {
  if (isAscii(message)) return undefined
  const header = readHeader(message)
  const bodyAt = typeof header === 'string' ? 0 : header.bodyAt
  return isAscii(message.subarray(0, bodyAt)) ? 'eight_bit' : 'utf8_header'
}
