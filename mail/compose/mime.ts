// Composes an email into bytes. The same input gives the same bytes for every attempt and on every machine.

import type { Field } from '../dkim/canonical.ts'
import { type DkimOptions, signFields } from '../dkim/sign.ts'
import { type Bodies, bodyCacheLimits, createBodies } from './bodyCache.ts'
import type { ComposeInput } from './input.ts'
import { headerFields } from './mimeHeader.ts'
import { partsSection } from './mimeParts.ts'

/** A cache that keeps nothing. */
const noBodies = createBodies({ ...bodyCacheLimits, bytesMax: 0 })

/**
 * Composes a message: bytes with CRLF, 7-bit, no line over 998 characters. There is no Bcc header.
 * @throws Error like `headerFields`
 */
export async function composeMessage(email: ComposeInput): Promise<Buffer> {
  const { fields, chunks } = await compose(email, noBodies)
  return joined('', fields, chunks)
}

/**
 * Composes and DKIM-signs a message. Its bytes are copied once.
 * @param bodies cache of encoded bodies
 * @param once true for a body that no other message has
 * @throws DkimError like `signFields`; Error like `headerFields`
 */
export async function composeSigned(
  email: ComposeInput,
  signers: DkimOptions[],
  bodies: Bodies,
  once = false,
): Promise<Buffer> {
  const { fields, chunks, hash } = await compose(email, bodies, once)
  return joined(await signFields(fields, hash, signers), fields, chunks)
}

async function compose(email: ComposeInput, bodies: Bodies, once = false) {
  const header = headerFields(email)
  const body =
    email.attachments.length > 0
      ? await partsSection(email)
      : await bodies.of(email.html, email.text, email.id, once)
  return { ...body, fields: [...header, ...body.fields] }
}

function joined(signatures: string, fields: Field[], chunks: Buffer[]): Buffer {
  let header = signatures
  for (const { raw } of fields) header += `${raw}\r\n`
  return Buffer.concat([Buffer.from(`${header}\r\n`, 'latin1'), ...chunks])
}
