// Transfer encodings (RFC 2045) and character sets of parts of a message that came whole.
import { TextDecoder } from 'node:util'
import { quoteBytes } from '../compose/quotedPrintable.ts'

const EQUALS = 0x3d
const SPACE = 0x20
const LF = 0x0a
const CR = 0x0d
const LINE_BYTES_MAX = 998
const BASE64_LINE = /.{76}(?!$)/g

/** The bytes that a part encodes. What is no valid encoding stays as it is. */
export function decodeTransfer(bytes: Buffer, encoding: string): Buffer {
  if (encoding === 'base64') return Buffer.from(bytes.toString('latin1'), 'base64')
  return encoding === 'quoted-printable' ? decodeQuoted(bytes) : bytes
}

/** How many bytes a part is decoded; those of quoted-printable count as they are. */
export function decodedLength(bytes: Buffer, encoding: string): number {
  if (encoding !== 'base64') return bytes.length
  let chars = 0
  for (const byte of bytes) if (byte > SPACE && byte !== EQUALS) chars += 1
  return Math.floor((chars * 3) / 4)
}

function decodeQuoted(bytes: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(bytes.length)
  let at = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0
    if (byte !== EQUALS) {
      decoded[at++] = byte
      continue
    }
    const value = hexOf(bytes[i + 1]) * 16 + hexOf(bytes[i + 2])
    if (!Number.isNaN(value)) {
      decoded[at++] = value
      i += 2
      continue
    }
    const end = softBreakEnd(bytes, i + 1)
    if (end === null) decoded[at++] = byte
    else i = end
  }
  return decoded.subarray(0, at)
}

/** The place of the last byte of a soft line break after its `=`; null when it is none. */
function softBreakEnd(bytes: Buffer, from: number): number | null {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x09) at += 1
  if (bytes[at] === CR && bytes[at + 1] === LF) return at + 1
  return at >= bytes.length ? at : null
}

function hexOf(byte: number | undefined): number {
  if (byte === undefined) return Number.NaN
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : Number.NaN
}

/**
 * Encodes bytes as a part had them before they changed.
 * @param like the encoded bytes before: they say whether the last line ends
 * @returns the encoding, which is another one only where lines have become too long for the old one
 */
export function encodeTransfer(
  bytes: Buffer,
  encoding: string,
  like: Buffer,
): { encoding: string; bytes: Buffer } {
  const end = like.at(-1) === LF ? '\r\n' : ''
  if (encoding === 'base64') {
    const lines = bytes.toString('base64').replace(BASE64_LINE, '$&\r\n')
    return { encoding, bytes: Buffer.from(lines + end, 'latin1') }
  }
  if (encoding !== 'quoted-printable' && !hasLongLine(bytes)) return { encoding, bytes }
  const quoted = quoteBytes(bytes)
  const isEnded = end !== '' || quoted.length < 2
  return { encoding: 'quoted-printable', bytes: isEnded ? quoted : quoted.subarray(0, -2) }
}

function hasLongLine(bytes: Buffer): boolean {
  for (let start = 0; ; ) {
    const end = bytes.indexOf('\r\n', start)
    if ((end < 0 ? bytes.length : end) - start > LINE_BYTES_MAX) return true
    if (end < 0) return false
    start = end + 2
  }
}

/** Text with `\n` line ends, as a reader sees the bytes. An unknown character set is read as UTF-8; NUL becomes U+FFFD. */
export function readText(bytes: Buffer, charset: string): string {
  const decoder = decoderOf(charset)
  if (decoder.encoding.startsWith('utf-16')) return readable(decoder.decode(bytes))
  const text = decoder.decode(withoutReturns(bytes))
  return text.includes('\0') ? readable(text) : text
}

/**
 * The bytes with LF for each CRLF, in any character set of bytes that ASCII is part of. Byte by byte: to replace in a text takes ten times as
 * long where nearly every line is empty, and a body may have ten million.
 */
function withoutReturns(bytes: Buffer): Buffer {
  if (!bytes.includes('\r\n')) return bytes
  const kept = Buffer.allocUnsafe(bytes.length)
  let length = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0
    if (byte !== CR || bytes[i + 1] !== LF) kept[length++] = byte
  }
  return kept.subarray(0, length)
}

/** The text with LF for each CRLF and U+FFFD for each NUL, unit by unit for the same reason. */
function readable(text: string): string {
  const units = new Uint16Array(text.length)
  Buffer.from(units.buffer).write(text, 'utf16le')
  let length = 0
  for (let i = 0; i < units.length; i++) {
    const unit = units[i] ?? 0
    if (unit !== CR || units[i + 1] !== LF) units[length++] = unit === 0 ? 0xfffd : unit
  }
  return Buffer.from(units.buffer, 0, 2 * length).toString('utf16le')
}

/** Shared, since `decode` without `stream` keeps nothing between calls: to make a decoder takes longer than to decode a small body. */
const utf8 = new TextDecoder()

function decoderOf(charset: string): TextDecoder {
  if (charset === '' || charset === 'us-ascii' || charset === 'utf-8') return utf8
  try {
    return new TextDecoder(charset)
  } catch {
    return utf8
  }
}
