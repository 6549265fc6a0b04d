// Encodes a text body (RFC 2045): 7bit, quoted-printable or base64, in slices, with CRLF line ends.
import type { MaybeLater } from '../../rules/later.ts'
import { unwatched, type Watched } from '../../rules/watched.ts'
import { endSlice } from '../slices.ts'
import { countEscaped, createQuoted, type Encoder, UNITS_MAX } from './quotedPrintable.ts'

export interface EncodedBody {
  encoding: '7bit' | 'quoted-printable' | 'base64'
  /**
   * The encoded pieces in order; a single one unless the body is long. The last one ends with CRLF, unless the
   * body is empty.
   */
  chunks: Buffer[]
}

/** UTF-16 units that are encoded in one turn of the event loop: a few milliseconds of work. */
const SLICE_CHARS = UNITS_MAX
const LINE_MAX = 76
const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20

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
const prefersBase64 = (bytes: Buffer): boolean => countEscaped(bytes) * 6 > bytes.length

function toCrlf(text: string): string {
  const lines = /[\r\n]/.test(text) ? text.replace(/\r\n?|\n/g, '\r\n') : text
  return lines === '' || lines.endsWith('\r\n') ? lines : `${lines}\r\n`
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
