// A large base64 text of a body, decoded as it came.
import { StringDecoder } from 'node:string_decoder'
import { GrowingBytes } from './growing.ts'

const SPACE = /\s+/gu
/** The first character that base64 lacks. `-` and `_` stand for `+` and `/` in the form for URLs. */
const STRANGE = /[^A-Za-z0-9+/=_\s-]/u
const GROUP_CHARS = 4

/** A base64 text of a large body. */
export class LargeBase64 {
  /** Less than all of it if it is over the limit of its field. */
  readonly content: Buffer
  /** The size that the length of the text stands for, as `Buffer.byteLength` counts it. */
  readonly byteLength: number
  /** The first character that base64 lacks; undefined if there is none. */
  readonly strange: string | undefined

  constructor(content: Buffer, byteLength: number, strange: string | undefined) {
    this.content = content
    this.byteLength = byteLength
    this.strange = strange
  }
}

/** The first character of a text that base64 lacks. */
export const strangeInBase64 = (text: string): string | undefined => STRANGE.exec(text)?.[0]

/** Makes the place where one text arrives. @param bytesMax what is kept, decoded */
export function createBase64Sink(bytesMax: number) {
  const utf8 = new StringDecoder('utf8')
  const content = new GrowingBytes(bytesMax)
  let chars = 0
  let last = ''
  let strange: string | undefined
  /** Characters that do not make a group of four yet. */
  let begun = ''
  /** `Buffer.from` reads nothing after the first `=`. */
  let hasEnded = false

  const decode = (text: string) => {
    if (hasEnded) return
    const padding = text.indexOf('=')
    hasEnded = padding >= 0
    const all = begun + (hasEnded ? text.slice(0, padding) : text)
    const whole = hasEnded ? all.length : all.length - (all.length % GROUP_CHARS)
    content.add(Buffer.from(all.slice(0, whole), 'base64'))
    begun = all.slice(whole)
  }
  const add = (text: string) => {
    if (text === '') return
    chars += text.length
    last = (last + text).slice(-2)
    strange ??= strangeInBase64(text)
    if (strange === undefined) decode(text.replace(SPACE, ''))
  }

  return {
    add: (piece: Buffer) => add(utf8.write(piece)),
    /** The content; an empty one is a string, as in a small body. */
    done(): LargeBase64 | string {
      if (chars === 0) return ''
      content.add(Buffer.from(begun, 'base64'))
      const padding = last.endsWith('==') ? 2 : last.endsWith('=') ? 1 : 0
      const byteLength = Math.floor(((chars - padding) * 3) / 4)
      return new LargeBase64(content.done(), byteLength, strange)
    },
  }
}
