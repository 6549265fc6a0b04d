// A large text of a body that never was a string of JavaScript: its UTF-8, taken as it came.
import { GrowingBytes } from './growing.ts'
import type { Unescaper } from './unescaper.ts'

/** A text of a large body. */
export class LargeText {
  /** UTF-8. Less than all of it if it is over the limit of its field. */
  readonly bytes: Buffer
  /** Of all of it, in UTF-8. */
  readonly byteLength: number
  /** False if it holds U+0000 or half of a surrogate pair, which Postgres cannot store. */
  readonly isStorable: boolean

  constructor(bytes: Buffer, byteLength: number, isStorable: boolean) {
    this.bytes = bytes
    this.byteLength = byteLength
    this.isStorable = isStorable
  }
}

/** Makes the place where one text arrives. @param bytesMax what is kept */
export function createTextSink(bytesMax: number) {
  const bytes = new GrowingBytes(bytesMax)
  return {
    add: (piece: Buffer) => bytes.add(piece),
    /** The text; an empty one is a string, as in a small body. */
    done: ({ isStorable }: Unescaper): LargeText | string =>
      bytes.size === 0 ? '' : new LargeText(bytes.done(), bytes.size, isStorable),
  }
}
