// Composes an email into bytes: the same input gives the same bytes, on every attempt and machine.
import { createHash } from 'node:crypto'
import MailComposer from 'nodemailer/lib/mail-composer'
import { type BodyPart, bodyPart, safeAttachment } from './mimeParts.ts'

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

/** Headers that no caller may set, as lower-case names; `list-unsubscribe*` only where we set it. */
const ownedHeaders =
  /^(from|to|cc|bcc|subject|date|message-id|reply-to|mime-.*|content-.*|dkim-signature|received|return-path|feedback-id)$/

const headerName = /^[\x21-\x39\x3b-\x7e]{1,100}$/

/** Room in a line of 998 characters for the name and for what may be folded in front. */
const TOKEN_CHARS_MAX = 800
const ENCODED_WORD_BYTES = 45

/**
 * The message in CRLF bytes, 7-bit but for SMTPUTF8 addresses in its header, no line over 998 characters.
 * Bcc has no place in the input: nobody sees it. Addresses are not checked here.
 */
export async function composeMessage(email: ComposeInput): Promise<Buffer> {
  const composer = new MailComposer({
    newline: 'windows',
    disableFileAccess: true,
    disableUrlAccess: true,
    boundaryPrefix: '--dl',
    baseBoundary: createHash('sha256').update(email.id).digest('hex').slice(0, 24),
    from: toAddress(email.from),
    to: email.to.map(toAddress),
    cc: email.cc.map(toAddress),
    replyTo: email.replyTo.map(toAddress),
    date: email.date,
    messageId: `<${email.messageId}>`,
    headers: composeHeaders(email),
    ...toBodyOption('text', email.text),
    ...toBodyOption('html', email.html),
    attachments: email.attachments.map(safeAttachment),
  })
  return await composer.compile().build()
}

function toAddress({ name, address }: MailAddress) {
  return { name: name ?? '', address }
}

function toBodyOption(name: 'text' | 'html', body: string | null): { [key: string]: BodyPart } {
  return body === null || body === '' ? {} : { [name]: bodyPart(body) }
}

function composeHeaders(email: ComposeInput) {
  const headers = [{ key: 'Subject', value: headerValue(email.subject) }]
  for (const [key, value] of Object.entries(email.headers)) {
    const name = key.toLowerCase()
    if (ownedHeaders.test(name) || !headerName.test(name)) continue
    if (email.unsubscribe !== null && name.startsWith('list-unsubscribe')) continue
    headers.push({ key, value: headerValue(value) })
  }
  if (email.unsubscribe !== null) {
    const { url, mailto } = email.unsubscribe
    const ways = mailto === undefined ? `<${url}>` : `<${url}>, <mailto:${mailto}>`
    headers.push({ key: 'List-Unsubscribe', value: verbatim(ways) })
    headers.push({
      key: 'List-Unsubscribe-Post',
      value: verbatim('List-Unsubscribe=One-Click'),
    })
  }
  if (email.feedbackId !== null) {
    headers.push({ key: 'Feedback-ID', value: verbatim(email.feedbackId) })
  }
  return headers
}

type HeaderValue = string | { prepared: true; foldLines: true; value: string }

/** A structured value that must not become encoded words; folded at spaces alone. */
function verbatim(value: string): HeaderValue {
  // anything but visible ASCII and space would end the header or need an encoding
  return { prepared: true, foldLines: true, value: value.replace(/[^\x20-\x7e]/g, '') }
}

/** nodemailer folds at spaces alone: text with an overlong word goes out as encoded words (RFC 2047). */
function headerValue(text: string): HeaderValue {
  const value = text.replace(/[\r\n]+/g, ' ')
  if (!value.split(/[ \t]/).some((word) => word.length > TOKEN_CHARS_MAX)) return value
  const words: string[] = []
  let word = ''
  for (const character of value) {
    if (Buffer.byteLength(word + character) > ENCODED_WORD_BYTES) {
      words.push(word)
      word = ''
    }
    word += character
  }
  words.push(word)
  const encoded = words.map((part) => `=?UTF-8?B?${Buffer.from(part).toString('base64')}?=`)
  return { prepared: true, foldLines: true, value: encoded.join(' ') }
}
