// A large base64 text of a body, decoded as it came.
import { StringDecoder } from 'node:string_decoder'
import { Base64Look, GROUP_CHARS } from './base64Look.ts'
import { GrowingBytes } from './growing.ts'

/** A base64 text of a large body. */
export class LargeBase64 {
  /** Less than all of it if it is over the limit of its field, or has a fault. */
  readonly content: Buffer
  /** The size that the length of the text stands for. */
  readonly byteLength: number
  /** What is wrong with it, as `Base64Look` says it. */
  readonly fault: string | undefined

  constructor(content: Buffer, byteLength: number, fault: string | undefined) {
    this.content = content
    this.byteLength = byteLength
    this.fault = fault
  }
}

/** Makes the place where one text arrives. @param bytesMax what is kept, decoded */
export function createBase64Sink(bytesMax: number) {
  const utf8 = new StringDecoder('utf8')
  const content = new GrowingBytes(bytesMax)
  const look = new Base64Look()
  let isEmpty = true
  /** Characters that do not make a group of four yet. */
  let begun = ''

  const add = (text: string) => {
    if (text === '') return
    isEmpty = false
    const bare = look.add(text)
    if (look.hasStrange) return
    const all = begun + bare
    const whole = all.length - (all.length % GROUP_CHARS)
    content.add(Buffer.from(all.slice(0, whole), 'base64'))
    begun = all.slice(whole)
  }

  return {
    add: (piece: Buffer) => add(utf8.write(piece)),
    /** The content; an empty one is a string, as in a small body. */
    done(): LargeBase64 | string {
      // Half a character at the end is none of base64, as anywhere else.
      add(utf8.end())
      if (isEmpty) return ''
      content.add(Buffer.from(begun, 'base64'))
      return new LargeBase64(content.done(), look.byteLength, look.fault)
    },
  }
}
