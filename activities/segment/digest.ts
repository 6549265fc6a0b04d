// Tells whether two mails of a segment are made from the same template and values, without reading large values again for
// each mail.
import { createHash } from 'node:crypto'

const LONG_CHARS = 200
/** Values below this depth are read as one. A scope holds a contact, which holds its properties. */
const DEPTH = 2

/** Makes a function that gives equal texts for equal values. The values must not change while it is used. */
export function createDigest(): (value: unknown) => string {
  const ofObjects = new WeakMap<object, string>()
  const ofTexts = new Map<string, string>()
  const hash = (text: string) => createHash('sha256').update(text).digest('base64')

  function ofObject(value: object, depth: number): string {
    if (depth >= DEPTH || Array.isArray(value)) return `json ${hash(JSON.stringify(value))}`
    const parts = Object.entries(value).map(([name, inner]) => [name, digest(inner, depth + 1)])
    return `object ${hash(JSON.stringify(parts))}`
  }

  function digest(value: unknown, depth = 0): string {
    if (typeof value === 'string') {
      if (value.length < LONG_CHARS) return JSON.stringify(value)
      const known = ofTexts.get(value) ?? `text ${hash(value)}`
      ofTexts.set(value, known)
      return known
    }
    if (typeof value !== 'object' || value === null) return String(value)
    const known = ofObjects.get(value) ?? ofObject(value, depth)
    ofObjects.set(value, known)
    return known
  }
  return (value) => digest(value)
}
