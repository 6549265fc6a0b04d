// Composes an email into bytes: the same input gives the same bytes, on every attempt and machine.

import { type DkimOptions, type Field, signFields, signMessage } from '../dkim/sign.ts'
import { type Bodies, bodyCacheLimits, createBodies } from './bodyCache.ts'
import { headerFields } from './mimeHeader.ts'
import { composeParts } from './mimeParts.ts'

export interface MailAddress {
  /** Display name; null or empty for none. */
  name: string | null
  address: string
}

export interface ComposeAttachment {
  filename: string
  content: Buffer
  /** Guessed from the file name when null. */
  contentType: string | null
  /** With it the attachment is inline, for `cid:` links of the html. Without angle brackets. */
  contentId: string | null
}

export interface ComposeInput {
  /** The email's id: seeds the MIME boundaries. */
  id: string
  from: MailAddress
  to: MailAddress[]
  cc: MailAddress[]
  replyTo: MailAddress[]
  subject: string
  html: string | null
  /** null: made from the html. */
  text: string | null
  /** When the email was accepted. */
  date: Date
  /** Without angle brackets. */
  messageId: string
  /** The caller's own headers. Those that this module sets are left out. */
  headers: Record<string, string>
  attachments: ComposeAttachment[]
  /** Sets List-Unsubscribe and List-Unsubscribe-Post (RFC 8058). */
  unsubscribe: { url: string; mailto?: string } | null
  feedbackId: string | null
}

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
