// Looks at JSON text before it is parsed: how deep it is nested, and how many values it may hold.
import { limits } from '../../../rules/limits.ts'
import { badRequest } from '../errors.ts'

export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d
export const OPEN_LIST = 0x5b
export const CLOSE_LIST = 0x5d

/**
 * Refuses JSON whose parsing would take long or much memory. Text that is not JSON may pass: parsing refuses it.
 * @param bytes of JSON text in UTF-8
 * @throws ApiError 400 `body_too_complex`
 */
export function checkShape(bytes: Uint8Array): void {
  let depth = 0
  let marks = 0
  for (let i = 0; i < bytes.length; i++) {
    switch (bytes[i]) {
      case QUOTE:
        i = endOfText(bytes, i + 1)
        break
      case OPEN_OBJECT:
      case OPEN_LIST:
        depth += 1
        marks += 1
        if (depth > limits.bodyDepthMax) throw tooDeep()
        break
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        depth -= 1
        marks += 1
        break
      case COMMA:
      case COLON:
        marks += 1
        break
    }
  }
  if (marks > limits.bodyMarksMax) {
    const text = `The body must not have more than ${limits.bodyMarksMax} of the characters { } [ ] , : outside of texts, has ${marks}`
    throw badRequest(text, 'body_too_complex')
  }
}

/** Bytes of a text that are looked at one by one: most texts are short, and a search costs as much as some of these. */
const STEPS = 32

/** The place of the quote that ends a text. */
function endOfText(bytes: Uint8Array, from: number): number {
  for (let i = from; ; ) {
    const near = Math.min(i + STEPS, bytes.length)
    for (; i < near; i++) {
      const byte = bytes[i]
      if (byte === QUOTE) return i
      if (byte === BACKSLASH) i += 1
    }
    if (i >= bytes.length) return i
    // What is escaped begins with the last byte that was looked at, or after it.
    const quote = bytes.indexOf(QUOTE, i)
    if (quote < 0) return bytes.length
    let slashes = 0
    while (quote - slashes > i && bytes[quote - slashes - 1] === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return quote
    i = quote + 1
  }
}

const tooDeep = () =>
  badRequest(
    `The body must not be nested deeper than ${limits.bodyDepthMax} levels`,
    'body_too_complex',
  )
