// Takes the escapes out of one JSON text while it arrives. A piece may end anywhere, also within an escape.
import { BACKSLASH, QUOTE } from './shape.ts'

/** What follows a backslash, with the byte that it stands for. */
const SHORT = new Map(
  Object.entries({ '"': 0x22, '\\': 0x5c, '/': 0x2f, b: 8, f: 12, n: 10, r: 13, t: 9 }).map(
    ([letter, byte]) => [letter.charCodeAt(0), byte],
  ),
)
const LETTER_U = 0x75
/** Stands where half of a surrogate pair was; such a text is refused later, with the name of its field. */
const REPLACEMENT = 0xfffd
/** Runs that are shorter are copied byte by byte: the call of a copy costs more. */
const SHORT_RUN_BYTES = 48

/** 1 for every byte that stands for itself. */
const plain = new Uint8Array(256).fill(1)
plain.fill(0, 0, 0x20)
plain[QUOTE] = 0
plain[BACKSLASH] = 0

/** The longest piece that `read` takes. */
export const PIECE_BYTES = 64 * 1024
/** Shorter pieces are read byte by byte at once. */
const WHOLE_BYTES_MIN = 4 * 1024

/** The bytes of one text, without escapes, in UTF-8. */
export class Unescaper {
  /** False after a control character or an escape that JSON lacks. */
  isValid = true
  /** False for a text that Postgres cannot store: it holds U+0000 or half of a surrogate pair. */
  isStorable = true
  isClosed = false
  /** What the last call of `read` gave; the next one writes over it. A call may add a few bytes begun before. */
  readonly #out = Buffer.allocUnsafe(PIECE_BYTES + 16)
  #length = 0
  /** Digits of `\uXXXX` that have not come; 5 after the backslash, 0 outside of escapes. */
  #escape = 0
  #unit = 0
  /** The first half of a surrogate pair whose second half has not come; 0 for none. */
  #high = 0

  get output(): Buffer {
    return this.#out.subarray(0, this.#length)
  }

  /** Begins another text. */
  reset(): void {
    this.isValid = true
    this.isStorable = true
    this.isClosed = false
    this.#escape = 0
    this.#high = 0
  }

  /** Reads on from a place in a piece of at most `PIECE_BYTES`. @returns the place after what was read */
  read(piece: Buffer, from: number): number {
    this.#length = 0
    let i = from === 0 ? this.#readWhole(piece) : from
    while (i < piece.length) {
      const byte = piece[i] ?? 0
      if (this.#escape > 0) {
        this.#readEscape(byte)
        i += 1
      } else if (plain[byte] === 1) {
        i = this.#copyRun(piece, i)
      } else if (byte === BACKSLASH) {
        this.#escape = 5
        i += 1
      } else if (byte === QUOTE) {
        this.#endPair()
        this.isClosed = true
        return i + 1
      } else {
        this.isValid = false
        return piece.length
      }
    }
    return i
  }

  /**
   * Reads a piece from the middle of a long text by the parser of JavaScript, in less than half of the time. Each byte is a
   * character to it, as in Latin-1: so bytes of UTF-8 stay what they are, and `\u` is left to `read`.
   * @returns the place after what was read: 0 when the text ends in this piece, or it holds what is left to `read`
   */
  #readWhole(piece: Buffer): number {
    if (this.#escape > 0 || piece.length < WHOLE_BYTES_MIN) return 0
    const end = endOfEscapes(piece)
    const text = piece.toString('latin1', 0, end)
    if (text.includes('\\u')) return 0
    let plainText: string
    try {
      plainText = JSON.parse(`"${text}"`)
    } catch {
      return 0
    }
    this.#endPair()
    this.#length += this.#out.write(plainText, this.#length, 'latin1')
    return end
  }

  #copyRun(piece: Buffer, from: number): number {
    this.#endPair()
    let end = from + 1
    while (end < piece.length && plain[piece[end] ?? 0] === 1) end += 1
    if (end - from < SHORT_RUN_BYTES) {
      let at = this.#length
      for (let i = from; i < end; i++) this.#out[at++] = piece[i] ?? 0
    } else piece.copy(this.#out, this.#length, from, end)
    this.#length += end - from
    return end
  }

  #readEscape(byte: number): void {
    if (this.#escape === 5) {
      const short = SHORT.get(byte)
      if (byte === LETTER_U) {
        this.#escape = 4
        this.#unit = 0
        return
      }
      this.#escape = 0
      this.#endPair()
      if (short === undefined) this.isValid = false
      else this.#out[this.#length++] = short
      return
    }
    const digit = hexDigit(byte)
    if (digit < 0) this.isValid = false
    this.#unit = this.#unit * 16 + digit
    this.#escape -= 1
    if (this.#escape === 0 && this.isValid) this.#addUnit(this.#unit)
  }

  /** Adds one UTF-16 unit; two halves of a pair make one character. */
  #addUnit(unit: number): void {
    const isLow = unit >= 0xdc00 && unit <= 0xdfff
    if (this.#high > 0 && isLow) {
      this.#addCharacter(0x10000 + ((this.#high - 0xd800) << 10) + (unit - 0xdc00))
      this.#high = 0
      return
    }
    this.#endPair()
    if (unit >= 0xd800 && unit <= 0xdbff) this.#high = unit
    else {
      if (isLow || unit === 0) this.isStorable = false
      this.#addCharacter(isLow ? REPLACEMENT : unit)
    }
  }

  /** A first half that no second one follows is half of a pair. */
  #endPair(): void {
    if (this.#high === 0) return
    this.#high = 0
    this.isStorable = false
    this.#addCharacter(REPLACEMENT)
  }

  #addCharacter(code: number): void {
    const out = this.#out
    if (code < 0x80) {
      out[this.#length++] = code
      return
    }
    if (code < 0x800) out[this.#length++] = 0xc0 | (code >> 6)
    else {
      if (code < 0x10000) out[this.#length++] = 0xe0 | (code >> 12)
      else {
        out[this.#length++] = 0xf0 | (code >> 18)
        out[this.#length++] = 0x80 | ((code >> 12) & 0x3f)
      }
      out[this.#length++] = 0x80 | ((code >> 6) & 0x3f)
    }
    out[this.#length++] = 0x80 | (code & 0x3f)
  }
}

/** The end of the last whole escape: before a backslash at the end that no other one takes. */
function endOfEscapes(piece: Buffer): number {
  let from = piece.length
  while (from > 0 && piece[from - 1] === BACKSLASH) from -= 1
  return piece.length - ((piece.length - from) % 2)
}

/** The value of a hexadecimal digit; -1 for another byte. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
