// Checks that JSON data can be stored as jsonb, is not too large, and is not nested too deep for recursion.
import { limits } from './limits.ts'

export interface JsonFault {
  code: 'too_large' | 'too_deep' | 'unstorable_text' | 'unstorable_number' | 'not_json'
  /** The fault, worded to follow the field's name. */
  message: string
}

/**
 * The first fault of a value, or null: JSON text over `bytesMax` bytes of UTF-8, nested over `limits.jsonDepthMax`
 * levels, text with U+0000 or half a surrogate pair (Postgres refuses both in jsonb), a number that is too large
 * (1e999), or a value that is not JSON. Does not recurse and stops at the limit, so it is safe for any input.
 */
export function findJsonFault(
  value: unknown,
  bytesMax: number = Number.POSITIVE_INFINITY,
): JsonFault | null {
  // An upper bound, for which nothing is written out, settles nearly all values; the exact size is counted above it alone.
  const fault = findFault(value, bytesMax, mostBytes)
  return fault?.code === 'too_large' ? findFault(value, bytesMax, exactBytes) : fault
}

/** @param bytesOf the bytes of one value as JSON; of an object or a list its brackets, commas and keys alone. `keys` is null for others */
function findFault(
  value: unknown,
  bytesMax: number,
  bytesOf: (value: unknown, keys: readonly string[] | null) => number,
): JsonFault | null {
  const values: unknown[] = [value]
  const depths = [0]
  let bytes = 0
  while (values.length > 0) {
    const top = values.pop()
    const depth = depths.pop() ?? 0
    const fault = faultOf(top, depth)
    if (fault) return fault
    if (typeof top !== 'object' || top === null) {
      bytes += bytesOf(top, null)
    } else {
      const keys = Object.keys(top)
      if (!keys.every(isStorableText)) return unstorable
      bytes += bytesOf(top, keys)
      for (const child of Object.values(top)) {
        values.push(child)
        depths.push(depth + 1)
      }
    }
    if (bytes > bytesMax) {
      return { code: 'too_large', message: `must not exceed ${bytesMax} bytes of JSON` }
    }
  }
  return null
}

/** Of one UTF-16 unit: one that is escaped, such as U+0001. */
const UNIT_BYTES_MAX = 6
/** The longest number is -0.0000012345678901234567; true, false and null are shorter. */
const NUMBER_BYTES_MAX = 25

/** At least as much as `exactBytes`. */
function mostBytes(value: unknown, keys: readonly string[] | null): number {
  if (keys === null) {
    return typeof value === 'string' ? 2 + value.length * UNIT_BYTES_MAX : NUMBER_BYTES_MAX
  }
  // Brackets; of each key its quotes, colon and comma. Of a list the indices count as keys, which is more than its commas.
  return keys.reduce((sum, key) => sum + 4 + key.length * UNIT_BYTES_MAX, 2)
}

/** As many as `JSON.stringify` writes. */
function exactBytes(value: unknown, keys: readonly string[] | null): number {
  if (keys === null) return utf8Bytes(JSON.stringify(value))
  const marks = 2 + Math.max(keys.length - 1, 0)
  return Array.isArray(value) ? marks : keys.reduce((sum, key) => sum + keyBytes(key), marks)
}

/** A key with its quotes and colon. */
const keyBytes = (key: string): number => utf8Bytes(JSON.stringify(key)) + 1

const unstorable: JsonFault = {
  code: 'unstorable_text',
  message: 'must not hold a NUL character or half of a surrogate pair',
}

function faultOf(value: unknown, depth: number): JsonFault | null {
  switch (typeof value) {
    case 'string':
      return isStorableText(value) ? null : unstorable
    case 'number':
      if (Number.isFinite(value)) return null
      return { code: 'unstorable_number', message: 'must not hold a number that is too large' }
    case 'boolean':
      return null
    case 'object':
      if (value === null || depth < limits.jsonDepthMax) return null
      return {
        code: 'too_deep',
        message: `must not be nested deeper than ${limits.jsonDepthMax} levels`,
      }
    default:
      return {
        code: 'not_json',
        message: `must be JSON, and holds a value of type ${typeof value}`,
      }
  }
}

/** True for text that a Postgres text or jsonb column can hold. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** The same text with U+FFFD in place of each half surrogate pair and without U+0000, which Postgres refuses. */
export const toStorableText = (text: string): string =>
  text.isWellFormed() && !text.includes('\0') ? text : text.toWellFormed().replaceAll('\0', '')

/** The length in UTF-8 bytes of a text that has no half surrogate pairs. */
export function utf8Bytes(text: string): number {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // A surrogate is half of a four-byte character.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3
  }
  return bytes
}
