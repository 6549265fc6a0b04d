// The body section of a message with attachments, through nodemailer.
import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import MailComposer from 'nodemailer/lib/mail-composer'
import { detectMimeType } from 'nodemailer/lib/mime-funcs'
import type { MaybeLater } from '../../rules/later.ts'
import { holdsWordMark } from '../../rules/mail/headers.ts'
import type { Watched } from '../../rules/watched.ts'
import { textInTurns } from '../content/text.ts'
import { type BodySection, toSection } from './bodySection.ts'
import type { ComposeAttachment, ComposeInput } from './input.ts'

/** Bodies up to this many UTF-16 units are composed at once, longer ones in slices of this size. */
const SLICE_CHARS = 64 * 1024
const FILENAME_CHARS_MAX = 255
const LINE_BYTES_MAX = 998

type BodyPart = string | { content: Readable; contentTransferEncoding: string }

/** Like `bodySection`, with the attachments. Boundaries are derived from the email's id. @param watched as there */
export async function partsSection(email: ComposeInput, watched: Watched): Promise<BodySection> {
  const text = email.text ?? (email.html ? await textInTurns(email.html, watched) : null)
  const message = await watched(() => composerOf(email, text).compile().build())
  return watched(() => sectionOf(message, watched))
}

function composerOf(email: ComposeInput, text: string | null): MailComposer {
  return new MailComposer({
    newline: 'windows',
    disableFileAccess: true,
    disableUrlAccess: true,
    boundaryPrefix: '--dl',
    baseBoundary: hash('sha256', email.id).slice(0, 24),
    date: email.date,
    messageId: `<${email.messageId}>`,
    ...toBodyOption('text', text),
    ...toBodyOption('html', email.html),
    attachments: email.attachments.map(safeAttachment),
  })
}

function sectionOf(message: Buffer, watched: Watched): MaybeLater<BodySection> {
  const end = message.indexOf('\r\n\r\n')
  const lines = message.toString('latin1', 0, end).split(/\r\n(?![ \t])/)
  const fields = lines
    .map((raw) => ({ name: raw.slice(0, Math.max(raw.indexOf(':'), 0)).toLowerCase(), raw }))
    .filter(({ name }) => name.startsWith('content-'))
  return toSection(fields, [message.subarray(end + 4)], watched)
}

function toBodyOption(name: 'text' | 'html', body: string | null): { [key: string]: BodyPart } {
  return body === null || body === '' ? {} : { [name]: bodyPart(body) }
}

/**
 * A body for MailComposer. A long body becomes a stream, so that encoding it does not block the event loop. Its
 * encoding is chosen by its first slice: quoted-printable, or base64 if much of it is not ASCII.
 */
function bodyPart(body: string): BodyPart {
  if (body.length <= SLICE_CHARS) return toCrlf(body)
  const nonLatin = body.slice(0, SLICE_CHARS).match(/[^\x20-\x7e\s]/g)?.length ?? 0
  return {
    content: Readable.from(slices(body), { objectMode: false }),
    contentTransferEncoding: nonLatin > SLICE_CHARS / 4 ? 'base64' : 'quoted-printable',
  }
}

async function* slices(body: string): AsyncGenerator<Buffer> {
  let start = 0
  while (start < body.length) {
    let end = start + SLICE_CHARS
    // do not cut a surrogate pair or a CRLF in two
    if (/[\uD800-\uDBFF\r]/.test(body.charAt(end - 1))) end++
    yield Buffer.from(toCrlf(body.slice(start, end)))
    start = end
    await nextTurn()
  }
}

function toCrlf(text: string): string {
  return /[\r\n]/.test(text) ? text.replace(/\r\n?|\n/g, '\r\n') : text
}

/**
 * An attachment for MailComposer, which encodes it as base64. A message/* part must not be encoded (RFC 2046), so
 * one that does not fit into 7-bit lines becomes application/octet-stream.
 */
function safeAttachment(attachment: ComposeAttachment) {
  const { filename, content, contentId } = attachment
  const contentType = attachment.contentType?.trim() ?? ''
  const composite = /^(multipart|message)\//i.test(contentType)
  const carried = /^message\/rfc822$/i.test(contentType) && fitsSevenBit(content)
  const usable = /^[\w!#$&^.+-]{1,80}\/[\w!#$&^.+-]{1,120}(;[\x20-\x7e]{0,200})?$/.test(contentType)
  const type = composite && !carried ? 'application/octet-stream' : usable ? contentType : null
  const disposition = contentId === null ? 'attachment' : 'inline'
  return {
    ...toFileName(shorten(filename), disposition, type),
    content,
    // In a content id nothing can be encoded, and the links of the html would not find another one.
    ...(contentId === null ? {} : { cid: contentId.replaceAll('=?', '=') }),
  }
}

/**
 * The options of MailComposer for a file name. It would leave a name that looks like an encoded word as it is in the
 * old parameter `name` of the type, so such a name goes into the disposition alone, encoded by RFC 2231.
 */
function toFileName(filename: string, disposition: string, type: string | null) {
  if (!holdsWordMark(filename)) {
    return {
      filename,
      contentDisposition: disposition,
      ...(type === null ? {} : { contentType: type }),
    }
  }
  return {
    filename: false as const,
    contentDisposition: `${disposition}; filename=${JSON.stringify(filename)}`,
    contentType: type ?? detectMimeType(filename),
  }
}

/** Shortens a file name but keeps its extension, from which the type may be guessed. */
function shorten(filename: string): string {
  if (filename.length <= FILENAME_CHARS_MAX) return filename
  const dot = filename.lastIndexOf('.')
  const extension = dot > filename.length - 20 && dot >= 0 ? filename.slice(dot) : ''
  return filename.slice(0, FILENAME_CHARS_MAX - extension.length) + extension
}

/** Whether the content is ASCII without NUL, with CRLF as the only line end, and no line over 998 bytes. */
function fitsSevenBit(content: Buffer): boolean {
  let lineStart = 0
  for (let i = 0; i < content.length; i++) {
    const byte = content[i] ?? 0
    if (byte === 0 || byte > 0x7f) return false
    if (byte === 0x0a) {
      if (content[i - 1] !== 0x0d || i - 1 - lineStart > LINE_BYTES_MAX) return false
      lineStart = i + 1
    } else if (byte === 0x0d && content[i + 1] !== 0x0a) return false
  }
  return content.length - lineStart <= LINE_BYTES_MAX
}
