// Composes an email into bytes: the same input gives the same bytes, on every attempt and machine.

import { type DkimOptions, type Field, signFields, signMessage } from '../dkim/sign.ts'
import { type Bodies, bodyCacheLimits, createBodies } from './bodyCache.ts'
import type { ComposeInput } from './input.ts'
import { headerFields } from './mimeHeader.ts'
import { composeParts } from './mimeParts.ts'

/** Keeps nothing: for a message on its own. */
const noBodies = createBodies({ ...bodyCacheLimits, bytesMax: 0 })

/**
 * The message in CRLF bytes, 7-bit but for SMTPUTF8 addresses in its header, no line over 998 characters.
 * Bcc has no place in the input: nobody sees it. Addresses are not checked here.
 */
export async function composeMessage(email: ComposeInput): Promise<Buffer> {
  const header = email.attachments.length === 0 ? headerFields(email) : null
  if (header === null) return composeParts(email)
  const body = await noBodies.of(email.html, email.text, email.id)
  return joined('', [...header, ...body.fields], body.chunks)
}

/**
 * The message as it goes out, DKIM-signed; one copy of it is made.
 * @param bodies where encoded bodies are kept between mails
 * @param once for a body that no other mail has
 * @throws DkimError as signMessage
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
