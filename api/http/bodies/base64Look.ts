// What is wrong with a base64 text, looked at piece by piece.
import { shown } from '../../../rules/shown.ts'

const SPACE = /\s+/gu
/** The first character that base64 lacks. `-` and `_` stand for `+` and `/` in the form for URLs. */
const STRANGE = /[^A-Za-z0-9+/=_\s-]/u
const GROUP_CHARS = 4
const GROUP_BYTES = 3

/** Looks at one text, which comes in pieces. */
export class Base64Look {
  #strange: string | undefined
  /** Characters before the first `=`, without spaces. */
  #chars = 0
  #hasEnded = false
  #goesOn = false

  /** @returns what of the piece is to be decoded: nothing after the first `=`, where `Buffer.from` stops reading, too */
  add(text: string): string {
    this.#strange ??= STRANGE.exec(text)?.[0]
    const bare = text.replace(SPACE, '')
    const end = this.#hasEnded ? 0 : bare.indexOf('=')
    if (end < 0) {
      this.#chars += bare.length
      return bare
    }
    this.#hasEnded = true
    this.#chars += end
    this.#goesOn ||= /[^=]/.test(bare.slice(end))
    return bare.slice(0, end)
  }

  get hasStrange(): boolean {
    return this.#strange !== undefined
  }

  /** The size of what the text stands for; line ends within it stand for nothing. */
  get byteLength(): number {
    return Math.floor((this.#chars * GROUP_BYTES) / GROUP_CHARS)
  }

  /**
   * The end of a sentence that begins with "must be"; undefined if nothing is wrong. What a decoder would leave out in
   * silence is a fault: a file that was cut would be sent as if it were whole. Missing `=` at the end are none.
   */
  get fault(): string | undefined {
    if (this.#strange !== undefined) return `base64, which has no ${shown(this.#strange)}`
    if (this.#goesOn) return 'one base64 text, and goes on after its ='
    if (this.#chars === 0) return 'base64, and holds nothing'
    const isCut = this.#chars % GROUP_CHARS === 1
    return isCut ? 'base64, and was cut: its last character stands alone' : undefined
  }
}

/** Looks at a whole text. */
export function lookAtBase64(text: string): Base64Look {
  const look = new Base64Look()
  look.add(text)
  return look
}
