// Encodes quoted-printable (RFC 2045 section 6.7), in slices, with CRLF line ends.

/**
 * The most of one slice, in UTF-16 units of its text. What is made of it takes as many bytes or more, which glibc's malloc gives back to the
 * system once they are free, where that is used.
 */
export const UNITS_MAX = 128 * 1024
/** Columns of an encoded line, without the `=` of a soft line break. */
const COLUMNS_MAX = 75
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
/** Bytes that are literal wherever they are: a dot is not at the beginning of a line. */
const isPlain = Uint8Array.from(isLiteral, (literal, byte) => (byte === DOT ? 0 : literal))
const isEscaped = Uint8Array.from(isLiteral, (literal, byte) =>
  literal === 1 || byte === SPACE || byte === TAB || byte === CR || byte === LF ? 0 : 1,
)
/** Enough for the worst case: three columns for each byte and a soft break of three for each line. */
const scratch = Buffer.allocUnsafe(10 * UNITS_MAX + 64)

/** How many bytes quoted-printable escapes, without spaces and tabs at the end of a line, and dots at its beginning. */
export function countEscaped(bytes: Buffer): number {
  let escaped = 0
  for (let i = 0; i < bytes.length; i++) escaped += isEscaped[bytes[i] ?? 0] ?? 0
  return escaped
}

/** Encodes a body, slice by slice. */
export interface Encoder {
  add(bytes: Buffer): Buffer
  end(): Buffer
}

/** Bytes of any length as quoted-printable. Each line end becomes CRLF, and the last line ends. */
export function quoteBytes(bytes: Buffer): Buffer {
  const quoted = createQuoted()
  const pieces: Buffer[] = []
  for (let start = 0; start < bytes.length; start += UNITS_MAX) {
    pieces.push(quoted.add(bytes.subarray(start, start + UNITS_MAX)))
  }
  return Buffer.concat([...pieces, quoted.end()])
}

/**
 * Encodes quoted-printable. A space at the end of a line and a dot at its beginning are escaped, and no character
 * is cut by a line break.
 */
export function createQuoted(): Encoder {
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
        // Most bytes belong to runs that stay as they are.
        if (blank === 0) {
          const end = endOfPlain(bytes, i, COLUMNS_MAX - column)
          if (end > i) {
            cr = false
            column += end - i
            while (i < end) scratch[at++] = bytes[i++] ?? 0
          }
          if (i === bytes.length) break
        }
        const byte = bytes[i] ?? 0
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

/** The end of a run of bytes that stay as they are: those that are literal anywhere, and a space before a literal one. @param columns how long it may be */
function endOfPlain(bytes: Buffer, from: number, columns: number): number {
  const end = Math.min(bytes.length, from + columns)
  let i = from
  while (
    i < end &&
    (isPlain[bytes[i] ?? 0] === 1 || (bytes[i] === SPACE && isLiteral[bytes[i + 1] ?? LF] === 1))
  ) {
    i++
  }
  return i
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
