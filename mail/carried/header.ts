// Reads the header of a message that came whole. Its fields keep their bytes.
import type { Field } from '../dkim/canonical.ts'

/** What a header may have: more is an attack on whoever reads it. */
interface HeaderLimits {
  bytesMax: number
  fieldsMax: number
}
/** Of a message that is submitted. */
export const submittedHeader: HeaderLimits = { bytesMax: 256 * 1024, fieldsMax: 1_000 }
/** Of stored messages and of their parts: larger, since a submitted one gets fields of ours. */
const storedHeader: HeaderLimits = { bytesMax: 272 * 1024, fieldsMax: 1_100 }

const CRLF = '\r\n'
/** RFC 5322 section 2.2: visible ASCII but the colon; spaces before it were legal once (section 4.5). */
const FIELD_START = /^[\x21-\x39\x3b-\x7e]+[ \t]*:/

interface Header {
  fields: Field[]
  /** The place of the first byte of the body. */
  bodyAt: number
}

/**
 * Reads a header up to the empty line, or to the end of the bytes when there is none.
 * @param bytes a message or a part of one, with CRLF
 * @returns a text that says what is wrong, for a header that is none
 */
export function readHeader(
  bytes: Buffer,
  { bytesMax, fieldsMax }: HeaderLimits = storedHeader,
): Header | string {
  if (bytes[0] === 0x0d && bytes[1] === 0x0a) return { fields: [], bodyAt: CRLF.length }
  const end = bytes.subarray(0, bytesMax).indexOf(CRLF + CRLF)
  if (end < 0 && bytes.length > bytesMax) {
    return `the header must not exceed ${bytesMax / 1024} KB`
  }
  const text = bytes.toString('latin1', 0, end < 0 ? bytes.length : end)
  const lines = text.replace(/\r\n$/, '').split(/\r\n(?![ \t])/)
  if (lines.length > fieldsMax) return `the header must not exceed ${fieldsMax} fields`
  if (text === '') return { fields: [], bodyAt: bytes.length }
  const place = lines.findIndex((line) => !FIELD_START.test(line))
  if (place >= 0) return `field ${place + 1} of the header is not a name with a colon`
  const fields = lines.map((raw) => ({ name: nameOf(raw), raw }))
  return { fields, bodyAt: end < 0 ? bytes.length : end + 2 * CRLF.length }
}

const nameOf = (raw: string): string => raw.slice(0, raw.indexOf(':')).trim().toLowerCase()

/** Most values are ASCII, which Latin-1 and UTF-8 read alike. */
const BEYOND_ASCII = /[\x80-\xff]/

const isBlank = (char: string | undefined): boolean => char === ' ' || char === '\t'

/** The value of a field without its folds, its bytes read as UTF-8. */
export function fieldValue({ raw }: Field): string {
  const value = raw.slice(raw.indexOf(':') + 1).replaceAll(CRLF, '')
  // `trim` would take the last byte of characters such as "à" for a space.
  let [from, to] = [0, value.length]
  while (isBlank(value[from])) from += 1
  while (to > from && isBlank(value[to - 1])) to -= 1
  const kept = value.slice(from, to)
  return BEYOND_ASCII.test(kept) ? Buffer.from(kept, 'latin1').toString('utf8') : kept
}

/** The header as bytes, with the empty line that ends it. */
export function headerBytes(fields: readonly Field[]): Buffer {
  return Buffer.from(`${fields.map(({ raw }) => raw + CRLF).join('')}${CRLF}`, 'latin1')
}
