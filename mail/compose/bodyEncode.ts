// Encodes a text body (RFC 2045): 7bit, quoted-printable or base64, in slices, with CRLF line ends.
import type { MaybeLater } from '../../rules/later.ts'
import { unwatched, type Watched } from '../../rules/watched.ts'
import { endSlice } from '../slices.ts'

export interface EncodedBody {
  encoding: '7bit' | 'quoted-printable' | 'base64'
  /**
   * The encoded pieces in order; a single one unless the body is long. The last one ends with CRLF, unless the
   * body is empty.
   */
  chunks: Buffer[]
}

/** UTF-16 units that are encoded in one turn of the event loop: a few milliseconds of work. */
const SLICE_CHARS = 64 * 1024
/** Columns of an encoded line, without the `=` of a soft line break. */
const COLUMNS_MAX = 75
const LINE_MAX = 76
const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const DOT = 0x2e
const EQUALS = 0x3d
const HEX = Buffer.from('0123456789ABCDEF', 'latin1')
/** Bytes that quoted-printable does not escape. Space and tab are handled separately. */
const isLiteral = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte > SPACE && byte < 0x7f && byte !== EQUALS ? 1 : 0,
)
/** Enough for the worst case: three columns for each byte and a soft break of three for each line. */
const scratch = Buffer.allocUnsafe(10 * SLICE_CHARS + 64)

/**
 * Encodes a body of any size. 7bit if all lines are short ASCII, otherwise quoted-printable, or base64 if that is
 * smaller. The encoding of a long body is chosen by its first slice. Every line break becomes CRLF, and half a
 * surrogate pair becomes U+FFFD.
 * @param watched for each slice of a long body
 */
export function encodeBody(text: string, watched: Watched = unwatched): MaybeLater<EncodedBody> {
  return text.length <= SLICE_CHARS ? encodeShort(text) : encodeLong(text, watched)
}

function encodeShort(text: string): EncodedBody {
  if (isSevenBit(text)) return { encoding: '7bit', chunks: [Buffer.from(toCrlf(text), 'latin1')] }
  const bytes = Buffer.from(text)
  if (prefersBase64(bytes)) {
    return { encoding: 'base64', chunks: [wrapBase64(Buffer.from(toCrlf(text)))] }
  }
  const quoted = createQuoted()
  return {
    encoding: 'quoted-printable',
    chunks: [Buffer.concat([quoted.add(bytes), quoted.end()])],
  }
}

async function encodeLong(text: string, watched: Watched): Promise<EncodedBody> {
  const isBase64 = prefersBase64(Buffer.from(text.slice(0, SLICE_CHARS)))
  const encoder = isBase64 ? createBase64() : createQuoted()
  const chunks: Buffer[] = []
  for (const slice of slices(text)) {
    const began = performance.now()
    chunks.push(watched(() => encoder.add(Buffer.from(slice))))
    await endSlice(began, text.length)
  }
  chunks.push(encoder.end())
  return { encoding: isBase64 ? 'base64' : 'quoted-printable', chunks }
}

function* slices(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = start + SLICE_CHARS
    // do not cut a surrogate pair in two
    if (/[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end++
    yield text.slice(start, end)
    start = end
  }
}

/** Whether a text is printable ASCII and tabs, with no line over 76 characters. */
function isSevenBit(text: string): boolean {
  let column = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === LF || code === CR) column = 0
    else if ((code < SPACE && code !== TAB) || code > 0x7e || ++column > LINE_MAX) return false
  }
  return true
}

/** Whether base64 is smaller: quoted-printable triples an escaped byte, base64 adds a third to all bytes. */
function prefersBase64(bytes: Buffer): boolean {
  let escaped = 0
  for (const byte of bytes) {
    if (
      byte >= 0x7f ||
      byte === EQUALS ||
      (byte < SPACE && byte !== LF && byte !== CR && byte !== TAB)
    )
      escaped++
  }
  return escaped * 6 > bytes.length
}

function toCrlf(text: string): string {
  const lines = /[\r\n]/.test(text) ? text.replace(/\r\n?|\n/g, '\r\n') : text
  return lines === '' || lines.endsWith('\r\n') ? lines : `${lines}\r\n`
}

/** Bytes of any length as quoted-printable. Each line end becomes CRLF, and the last line ends. */
export function quoteBytes(bytes: Buffer): Buffer {
  const quoted = createQuoted()
  const pieces: Buffer[] = []
  for (let start = 0; start < bytes.length; start += SLICE_CHARS) {
    pieces.push(quoted.add(bytes.subarray(start, start + SLICE_CHARS)))
  }
  return Buffer.concat([...pieces, quoted.end()])
}

interface Encoder {
  add(bytes: Buffer): Buffer
  end(): Buffer
}

/**
 * Encodes quoted-printable. A space at the end of a line and a dot at its beginning are escaped, and no character
 * is cut by a line break.
 */
function createQuoted(): Encoder {
  const state = {
    column: 0,
    /** A space or tab that is not written yet, because it is escaped only at the end of a line. */
    blank: 0,
    cr: false,
    begun: false,
  }

  return {
    add(bytes) {
      state.begun ||= bytes.length > 0
      let { column, blank, cr } = state
      let at = 0
      for (let i = 0; i < bytes.length; i++) {
        const byte = bytes[i] ?? 0
        // Most bytes are these: a letter, or a space before one.
        if (
          (isLiteral[byte] === 1
            ? byte !== DOT
            : byte === SPACE && isLiteral[bytes[i + 1] ?? LF] === 1) &&
          blank === 0 &&
          column < COLUMNS_MAX
        ) {
          cr = false
          scratch[at++] = byte
          column++
          continue
        }
        if (byte === LF || byte === CR) {
          if (byte === CR || !cr) {
            at = endLine(column, blank, at)
            column = 0
            blank = 0
          }
          cr = byte === CR
          continue
        }
        cr = false
        if (blank !== 0) {
          if (column + 1 > COLUMNS_MAX) {
            at = breakLine(at)
            column = 0
          }
          scratch[at++] = blank
          column++
          blank = 0
        }
        if (byte === SPACE || byte === TAB) {
          blank = byte
          continue
        }
        if (column + widthOf(byte) > COLUMNS_MAX) {
          at = breakLine(at)
          column = 0
        }
        // A dot that begins a line is escaped, so that no server can take it for the end of the message.
        if (isLiteral[byte] === 1 && (byte !== DOT || column > 0)) {
          scratch[at++] = byte
          column++
        } else {
          at = writeEscaped(byte, at)
          column += 3
        }
      }
      Object.assign(state, { column, blank, cr })
      return Buffer.from(scratch.subarray(0, at))
    },
    end() {
      const { begun, column, blank } = state
      const at = begun && (column > 0 || blank !== 0) ? endLine(column, blank, 0) : 0
      return Buffer.from(scratch.subarray(0, at))
    },
  }
}

/** The columns that have to be free for a byte: a character of several bytes is written in one line. */
const widthOf = (byte: number): number => {
  if (isLiteral[byte] === 1) return 1
  if (byte < 0xc0) return 3
  if (byte < 0xe0) return 6
  return byte < 0xf0 ? 9 : 12
}

/** These write to `scratch` at a place, and give the place after it. */
function breakLine(at: number): number {
  scratch[at] = EQUALS
  return writeCrlf(at + 1)
}
function writeCrlf(at: number): number {
  scratch[at] = CR
  scratch[at + 1] = LF
  return at + 2
}
function writeEscaped(byte: number, at: number): number {
  scratch[at] = EQUALS
  scratch[at + 1] = HEX[byte >> 4] ?? 0
  scratch[at + 2] = HEX[byte & 15] ?? 0
  return at + 3
}
function endLine(column: number, blank: number, at: number): number {
  if (blank === 0) return writeCrlf(at)
  const escapedAt = column + 3 > COLUMNS_MAX ? breakLine(at) : at
  return writeCrlf(writeEscaped(blank, escapedAt))
}

/** Encodes base64 in lines of 76 characters. */
function createBase64(): Encoder {
  const LINE_BYTES = 57
  let rest: Buffer = Buffer.alloc(0)
  let cr = false
  return {
    add(bytes) {
      const text = bytes.toString()
      const first = cr && text.startsWith('\n') ? text.slice(1) : text
      cr = text.endsWith('\r')
      const lines = first.replace(/\r\n?|\n/g, '\r\n')
      const all = Buffer.concat([rest, Buffer.from(lines)])
      const whole = all.length - (all.length % LINE_BYTES)
      rest = Buffer.from(all.subarray(whole))
      return wrapBase64(all.subarray(0, whole))
    },
    end: () => wrapBase64(rest),
  }
}

function wrapBase64(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString('base64').replace(/.{1,76}/g, '$&\r\n'), 'latin1')
}
