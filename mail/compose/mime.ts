// Composes an email into bytes. The same input gives the same bytes for every attempt and on every machine.

import { type DkimOptions, type Field, signFields, signMessage } from '../dkim/sign.ts'
import { type Bodies, bodyCacheLimits, createBodies } from './bodyCache.ts'
import type { ComposeInput } from './input.ts'
import { headerFields } from './mimeHeader.ts'
import { composeParts } from './mimeParts.ts'

/** A cache that keeps nothing. */
const noBodies = createBodies({ ...bodyCacheLimits, bytesMax: 0 })

/**
 * Composes a message: bytes with CRLF, 7-bit except for SMTPUTF8 addresses in the header, no line over 998
 * characters. There is no Bcc header. Addresses are not checked here.
 */
export async function composeMessage(email: ComposeInput): Promise<Buffer> {
  const header = email.attachments.length === 0 ? headerFields(email) : null
  if (header === null) return composeParts(email)
  const body = await noBodies.of(email.html, email.text, email.id)
  return joined('', [...header, ...body.fields], body.chunks)
}

/**
 * Composes and DKIM-signs a message. Its bytes are copied once.
 * @param bodies cache of encoded bodies
 * @param once true for a body that no other message has
 * @throws DkimError like `signMessage`
 */
export async function composeSigned(
  email: ComposeInput,
  signers: DkimOptions[],
  bodies: Bodies,
  once = false,
): Promise<Buffer> {
  const header = email.attachments.length === 0 ? headerFields(email) : null
  if (header === null) return signMessage(await composeParts(email), signers)
  const body = await bodies.of(email.html, email.text, email.id, once)
  const fields = [...header, ...body.fields]
  return joined(await signFields(fields, body.hash, signers), fields, body.chunks)
}

function joined(signatures: string, fields: Field[], chunks: Buffer[]): Buffer {
  let header = signatures
  for (const { raw } of fields) header += `${raw}\r\n`
  return Buffer.concat([Buffer.from(`${header}\r\n`, 'latin1'), ...chunks])
}
