// Splits a large JSON body while it arrives: large texts go to places of their own, everything else is kept together as
// JSON that is small enough to be parsed.
import { isJsonObject } from '../../../rules/json.ts'
import { limits } from '../../../rules/limits.ts'
import { ApiError, invalidJson } from '../errors.ts'
import { GrowingBytes } from './growing.ts'
import { createBase64Sink, type LargeBase64 } from './largeBase64.ts'
import { createTextSink, type LargeText } from './largeText.ts'
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  checkShape,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
} from './shape.ts'
import { Unescaper } from './unescaper.ts'

/** The fields of a body whose texts may be large. */
export interface LargeFields {
  /** At the top. */
  texts: readonly string[]
  textBytesMax: number
  /** `list[].field`, in base64. Those after the first `countMax` stay in the rest. */
  base64: { list: string; field: string; bytesMax: number; countMax: number }
}

type Large = LargeText | LargeBase64 | string
type Sink = { add(piece: Buffer): void; done(unescaper: Unescaper): Large }

/** Keys that are longer, escapes and all, are none of the large fields. */
const KEY_BYTES_MAX = 100
/** What stands first in the rest where a large text may be: before its number, or before a text that stays there. */
const NUMBER_FOLLOWS = '#'
const TEXT_FOLLOWS = '='
const TEXT_FOLLOWS_BYTES = Buffer.from(TEXT_FOLLOWS)
/** The body, its list, and the objects in the list. */
const DEPTH_OF_LISTED = 3

type Within = 'nothing' | 'key' | 'text' | 'large'

/**
 * Reads one body. The rest keeps a number in the place of each large text. A text whose field came before stays in the
 * rest, so the work for one body is bounded however often it names its large fields.
 */
export class Splitter {
  readonly #fields: LargeFields
  readonly #bytesMax: number
  readonly #rest = new GrowingBytes(limits.emailRestBytesMax)
  readonly #larges: Large[] = []
  /** The fields at the top whose text was taken. */
  readonly #taken = new Set<string>()
  #base64Count = 0
  readonly #unescaper = new Unescaper()
  #within: Within = 'nothing'
  #isEscaped = false
  #sink: Sink | undefined
  #depth = 0
  /** The opening bracket and the last key of each of the first levels. */
  readonly #brackets = [0, 0, 0, 0]
  readonly #keys = ['', '', '', '']
  #isKeyNext = false
  #keyFrom = 0

  /** @param bytesMax of the whole body */
  constructor(fields: LargeFields, bytesMax: number) {
    this.#fields = fields
    this.#bytesMax = bytesMax
  }

  /**
   * Takes the next bytes of the body, at most `PIECE_BYTES`.
   * @throws ApiError 413 when what is kept beside the large texts is too large, 400 `invalid_json` for a large text that is
   * not a string of JSON
   */
  push(piece: Buffer): void {
    for (let i = 0; i < piece.length; ) {
      if (this.#within === 'nothing') i = this.#readBetween(piece, i)
      else if (this.#within === 'large') i = this.#readLarge(piece, i)
      else i = this.#readText(piece, i)
    }
  }

  /** The parsed body. @throws ApiError 400 */
  done(): unknown {
    if (this.#within !== 'nothing') throw invalidJson()
    const rest = this.#rest.bytes()
    checkShape(rest)
    return this.#putBack(parseJson(rest))
  }

  /** Brackets, commas, numbers, up to the next quote. */
  #readBetween(piece: Buffer, from: number): number {
    let i = from
    for (; i < piece.length && piece[i] !== QUOTE; i++) {
      const byte = piece[i]
      if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        this.#depth += 1
        if (this.#depth <= DEPTH_OF_LISTED) {
          this.#brackets[this.#depth] = byte
          this.#keys[this.#depth] = ''
        }
        this.#isKeyNext = byte === OPEN_OBJECT
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        this.#depth -= 1
        this.#isKeyNext = false
      } else if (byte === COMMA) this.#isKeyNext = this.#brackets[this.#depth] === OPEN_OBJECT
      else if (byte === COLON) this.#isKeyNext = false
    }
    if (i === piece.length) return this.#keep(piece, from, i)
    this.#keep(piece, from, i + 1)
    this.#begin()
    return i + 1
  }

  /** Begins what follows an opening quote. */
  #begin(): void {
    this.#sink = undefined
    this.#within = this.#isKeyNext ? 'key' : 'text'
    this.#keyFrom = this.#rest.size
    const field = this.#isKeyNext ? undefined : this.#largeFieldHere()
    if (field === undefined) return
    this.#sink = this.#sinkFor(field)
    if (this.#sink) {
      this.#within = 'large'
      this.#unescaper.reset()
    } else this.#keep(TEXT_FOLLOWS_BYTES, 0, TEXT_FOLLOWS_BYTES.length)
  }

  /** A key, or a text that stays where it is. */
  #readText(piece: Buffer, from: number): number {
    let i = from
    for (; i < piece.length; i++) {
      const byte = piece[i]
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) break
    }
    if (i === piece.length) return this.#keep(piece, from, i)
    this.#keep(piece, from, i + 1)
    if (this.#within === 'key') this.#endKey()
    this.#within = 'nothing'
    return i + 1
  }

  #readLarge(piece: Buffer, from: number): number {
    const unescaper = this.#unescaper
    const next = unescaper.read(piece, from)
    if (!unescaper.isValid) throw invalidJson()
    this.#sink?.add(unescaper.output)
    if (!unescaper.isClosed) return next
    const place = Buffer.from(`${NUMBER_FOLLOWS}${this.#larges.length}"`)
    this.#keep(place, 0, place.length)
    this.#larges.push(this.#sink?.done(unescaper) ?? '')
    this.#within = 'nothing'
    return next
  }

  #endKey(): void {
    this.#isKeyNext = false
    if (this.#depth !== 1 && this.#depth !== DEPTH_OF_LISTED) return
    const key = this.#rest.bytes(this.#keyFrom - 1)
    this.#keys[this.#depth] = key.length > KEY_BYTES_MAX ? '' : keyOf(key)
  }

  /** The large field whose text begins here; undefined if it is none. */
  #largeFieldHere(): string | undefined {
    const { texts, base64 } = this.#fields
    const [, body, list, item] = this.#brackets
    const [, key = '', , listedKey] = this.#keys
    if (body !== OPEN_OBJECT) return undefined
    if (this.#depth === 1) return texts.includes(key) ? key : undefined
    const isListed = list === OPEN_LIST && item === OPEN_OBJECT && key === base64.list
    const isContent = this.#depth === DEPTH_OF_LISTED && isListed && listedKey === base64.field
    return isContent ? base64.list : undefined
  }

  /** A sink for a text of a large field; undefined if the field has had all that it may have. */
  #sinkFor(field: string): Sink | undefined {
    const { textBytesMax, base64 } = this.#fields
    if (field === base64.list) {
      if (this.#base64Count === base64.countMax) return undefined
      this.#base64Count += 1
      return createBase64Sink(Math.min(base64.bytesMax, this.#bytesMax))
    }
    if (this.#taken.has(field)) return undefined
    this.#taken.add(field)
    return createTextSink(Math.min(textBytesMax, this.#bytesMax))
  }

  /** Keeps a part of the rest. @returns its end */
  #keep(piece: Buffer, from: number, to: number): number {
    this.#rest.add(piece, from, to)
    if (this.#rest.size <= limits.emailRestBytesMax) return to
    const { texts, base64 } = this.#fields
    const large = [...texts, `${base64.list}[].${base64.field}`].join(', ')
    const text = `Everything in the body but ${large} must not exceed ${limits.emailRestBytesMax} bytes together`
    throw new ApiError(413, 'body_too_large', text)
  }

  /**
   * Puts the large texts back. Each string in such a place begins with a character that was written here: `#` before the
   * number of a large text, `=` before a text that stayed in the rest. So a caller's text is never taken for a number.
   */
  #putBack(body: unknown): unknown {
    const { texts, base64 } = this.#fields
    if (!isJsonObject(body)) return body
    const fill = (object: Record<string, unknown>, field: string) => {
      const marked = Object.hasOwn(object, field) ? object[field] : undefined
      if (typeof marked !== 'string') return
      const follows = marked.slice(1)
      object[field] = marked.startsWith(TEXT_FOLLOWS) ? follows : this.#larges[Number(follows)]
    }
    for (const field of texts) fill(body, field)
    const list = Object.hasOwn(body, base64.list) ? body[base64.list] : undefined
    if (!Array.isArray(list)) return body
    for (const item of list) if (isJsonObject(item)) fill(item, base64.field)
    return body
  }
}

/** A key from its JSON text. */
function keyOf(json: Buffer): string {
  if (!json.includes(BACKSLASH)) return json.toString('utf8', 1, json.length - 1)
  try {
    return String(JSON.parse(json.toString()))
  } catch {
    return ''
  }
}

/** Parses JSON text in UTF-8, with or without a mark of the byte order. @throws ApiError 400 `invalid_json` */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(textOf(bytes))
  } catch {
    throw invalidJson()
  }
}

/** The text without a mark of the byte order. */
export function textOf(bytes: Buffer): string {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return bytes.toString('utf8', hasMark ? 3 : 0)
}
