// Reads a message that was submitted: who sends it, what is read back of it, and what of its header goes on.
import { isUtf8 } from 'node:buffer'
import { decodeWords } from 'postal-mime'
import type { SubmitEmail } from '../../commands/emails/submit.ts'
import type { MessageKey } from '../../commands/emails/submitOnce.ts'
import { fieldValue, headerBytes, readHeader, submittedHeader } from '../../mail/carried/header.ts'
import { findParts, type TextPart } from '../../mail/carried/structure.ts'
import { decodedLength, decodeTransfer, readText } from '../../mail/carried/transfer.ts'
import type { Field } from '../../mail/dkim/canonical.ts'
import { limits, MEBIBYTE } from '../../rules/limits.ts'
import { isReservedHeader } from '../../rules/mail/headers.ts'
import { refuse } from '../../rules/refusals.ts'
import { cleaned, readFrom, readList } from './addresses.ts'
import { checkAttachments, digestAttachments } from './attachments.ts'
import { readOptions } from './options.ts'
import { badMessage, replyOf, toReply } from './replies.ts'
import { endingTurn } from './turns.ts'

const OPTIONS = 'x-dripline-options'
const LINE_BYTES_MAX = 998
/** Of a field that is decoded. Each character of a subject may be a word of its own, and many addresses are shown. */
const VALUE_CHARS_MAX = 64 * 1024
const OPTIONS_CHARS_MAX = 128 * 1024
/** RFC 5321 section 6.3. */
const HOPS_MAX = 100

/** RFC 5322 section 3.6: at most once. Two of them are read differently by different readers. */
const single = [
  'from',
  'to',
  'cc',
  'bcc',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  OPTIONS,
]

/**
 * What does not go on: what is for us, what other servers and ours say about the mail, and who else is said to have sent it.
 * Received stays (RFC 5321 section 4.4), and all that the message is made of.
 */
const removed =
  /^(bcc|x-dripline-options|return-path|sender|resent-.*|received-spf|authentication-results|arc-.*|dkim-signature|domainkey-signature|feedback-id)$/

/** What a message says, without the key that was shown. */
type ReadMessage = Omit<SubmitEmail, 'keyId'> & { key: MessageKey | null }

/**
 * Reads a whole message; of a large one in steps, between which other work has its turn.
 * @param recipients of the envelope, bare addresses, each once
 * @throws SmtpRefusal for what the HTTP interface refuses of an email, and for what no message may have
 */
export async function readMessage(
  bytes: Buffer,
  recipients: string[],
  now: Date,
): Promise<ReadMessage> {
  const header = readHeader(bytes, submittedHeader)
  if (typeof header === 'string') throw badMessage(header, 'invalid_header')
  const { fields, bodyAt } = header
  checkFields(fields, bytes.subarray(0, bodyAt))
  const first = (name: string) => {
    const field = fields.find((one) => one.name === name)
    return field && fieldValue(field)
  }
  const bounded = (name: string, most = VALUE_CHARS_MAX) => {
    const value = first(name)
    if (value === undefined || value.length <= most) return value
    throw badMessage(`${name} must not exceed ${most} characters, has ${value.length}`)
  }
  const sender = readSender(first('from'))
  const subject = readSubject(bounded('subject'))
  const options = bounded(OPTIONS, OPTIONS_CHARS_MAX)
  const { idempotencyKey, ...read } = readOptions(options && decodeWords(options), now)
  const lists = {
    to: listOf(bounded('to')),
    cc: listOf(bounded('cc')),
    replyTo: listOf(bounded('reply-to')),
  }
  const shownInHeader = new Set(
    [...lists.to, ...lists.cc].map(({ address }) => address.toLowerCase()),
  )
  const { html, text, others } = await endingTurn(bytes, () => findParts(bytes))
  await endingTurn(bytes, () => checkAttachments(bytes, others))
  const bodies = await readBodies(bytes, { html, text })
  if (bodies.html === null && bodies.text === null && others.length === 0) {
    throw badMessage('html, text or template_id is required', 'content_required')
  }
  const shownOf = (list: { shown: string }[]) => list.map(({ shown }) => shown)
  return {
    from: sender.shown,
    sender,
    to: shownOf(lists.to),
    cc: shownOf(lists.cc),
    replyTo: shownOf(lists.replyTo),
    recipients,
    bcc: recipients.filter((address) => !shownInHeader.has(address.toLowerCase())),
    subject,
    ...bodies,
    headers: readBackHeaders(fields),
    ...read,
    key:
      idempotencyKey === null
        ? null
        : { idempotencyKey, attachmentsDigest: await digestAttachments(bytes, others) },
    bytes: bytes.length,
    messageId: readMessageId(first('message-id')),
    sourceWith: (added) => Buffer.concat([headerWith(fields, added), bytes.subarray(bodyAt)]),
  }
}

/** @throws SmtpRefusal for a header that readers could read in two ways, or servers on the way could not carry */
function checkFields(fields: readonly Field[], header: Buffer): void {
  if (!isUtf8(header)) throw badMessage('the header must be ASCII or UTF-8', 'invalid_header')
  for (const name of single) {
    const count = fields.filter((field) => field.name === name).length
    if (count > 1) throw badMessage(`${name} is given ${count} times`, 'invalid_header')
  }
  for (const { name, raw } of fields) {
    if (raw.split('\r\n').some((line) => line.length > LINE_BYTES_MAX)) {
      throw badMessage(`${name} has a line of over ${LINE_BYTES_MAX} bytes`, 'invalid_header')
    }
  }
  if (fields.filter(({ name }) => name === 'received').length > HOPS_MAX) {
    throw replyOf({
      reply: 554,
      enhanced: '5.4.6',
      code: null,
      text: 'This mail goes in a circle',
    })
  }
}

function readSender(value: string | undefined) {
  if (!value) throw badMessage('from field is required', null)
  const sender = readFrom(value)
  if (!sender) throw badMessage('Invalid email format in from field', null)
  return sender
}

function readSubject(value: string | undefined): string {
  const subject = cleanedSubject(value ?? '')
  if (subject === '') throw toReply(refuse('subject_missing', {}))
  const chars = subject.length
  if (chars > limits.subjectCharsMax) throw toReply(refuse('subject_too_long', { chars }))
  return subject
}

const cleanedSubject = (value: string) =>
  decodeWords(value)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .toWellFormed()
    .trim()

const listOf = (value: string | undefined) => (value === undefined ? [] : readList(value))

function readMessageId(value: string | undefined): string | undefined {
  if (!value) return undefined
  return cleaned(/^<([^<>]+)>$/.exec(value)?.[1] ?? value) || undefined
}

/**
 * Html and text as readers see them.
 * @throws SmtpRefusal when they are too large
 */
async function readBodies(
  bytes: Buffer,
  { html, text }: Record<'html' | 'text', TextPart | null>,
): Promise<{ html: string | null; text: string | null }> {
  const most = limits.htmlBytesMax
  const bodies = { html: await bodyOf(bytes, html), text: await bodyOf(bytes, text) }
  if (bodies.html.bytes > most) {
    throw toReply(refuse('html_too_large', { html_bytes: bodies.html.bytes }))
  }
  if (bodies.text.bytes > most) {
    const size = (bodies.text.bytes / MEBIBYTE).toFixed(2)
    const text = `text must not exceed ${most / MEBIBYTE}MB, has ${size}MB`
    throw replyOf({ reply: 552, enhanced: '5.3.4', code: 'text_too_large', text })
  }
  return { html: bodies.html.text, text: bodies.text.text }
}

/** A part as text, null when it is blank, and its size in bytes of UTF-8. What is surely too large is not decoded. */
async function bodyOf(
  bytes: Buffer,
  part: TextPart | null,
): Promise<{ text: string | null; bytes: number }> {
  if (part === null) return { text: null, bytes: 0 }
  const encoded = bytes.subarray(part.start, part.end)
  // Quoted-printable is at most three times as long as what it encodes.
  const times = part.encoding === 'quoted-printable' ? 3 : 1
  const least = await endingTurn(encoded, () =>
    Math.floor(decodedLength(encoded, part.encoding) / times),
  )
  if (least > limits.htmlBytesMax) return { text: null, bytes: least }
  const decoded = await endingTurn(encoded, () => decodeTransfer(encoded, part.encoding))
  return endingTurn(decoded, () => {
    const text = readText(decoded, part.charset)
    return { text: text.trim() === '' ? null : text, bytes: Buffer.byteLength(text) }
  })
}

/** The headers that a caller of the HTTP interface could have set, the first of each name. */
function readBackHeaders(fields: readonly Field[]): Record<string, string> {
  const headers = new Map<string, string>()
  for (const field of fields) {
    const name = field.raw.slice(0, field.raw.indexOf(':')).trim()
    if (isReservedHeader(field.name) || field.name === OPTIONS || headers.has(name)) continue
    if (headers.size >= limits.headersPerEmailMax) break
    headers.set(name, cleaned(fieldValue(field)))
  }
  return Object.fromEntries(headers)
}

/** The header as it goes on: without what is removed, with what is missing. */
function headerWith(
  fields: readonly Field[],
  { messageId, date }: { messageId: string; date: Date },
): Buffer {
  const has = (name: string) =>
    fields.some((field) => field.name === name && fieldValue(field) !== '')
  const own = [
    ['Message-ID', `<${messageId}>`],
    ['Date', date.toUTCString().replace('GMT', '+0000')],
    ['MIME-Version', '1.0'],
  ] as const
  const added = own.flatMap(([key, value]) => {
    const name = key.toLowerCase()
    return has(name) ? [] : [{ name, raw: `${key}: ${value}` }]
  })
  const replaced = new Set(added.map(({ name }) => name))
  const kept = fields.filter(({ name }) => !removed.test(name) && !replaced.has(name))
  return headerBytes([...kept, ...added])
}
