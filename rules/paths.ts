// Dot paths into free-form data: `a.b`, and `items[].sku` for every element of an array.
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { limits } from './limits.ts'

export interface PathPart {
  name: string
  /** How many `[]` follow the name: each steps into every element of an array. */
  each: number
}

/** The parts of a dot path; null if it is malformed: empty, over 255 characters, or with an empty name. */
export function parsePath(text: string): PathPart[] | null {
  if (text.length > limits.pathCharsMax) return null
  const parts: PathPart[] = []
  for (const piece of text.split('.')) {
    const match = /^([^[\]]+)((?:\[\])*)$/.exec(piece)
    if (!match) return null
    parts.push({ name: match[1] ?? '', each: (match[2] ?? '').length / 2 })
  }
  return parts
}

/**
 * The value of an object's own key; undefined if the key is inherited or absent, or the value is not an object.
 */
export function own(value: Json | undefined, key: string): Json | undefined {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/** Sets an own key. This works for `__proto__` too, where an assignment would change the prototype. */
export function setOwn(target: JsonObject, key: string, value: Json): void {
  Object.defineProperty(target, key, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  })
}

/**
 * All values that a path names; a path without `[]` names exactly one. A missing value is undefined. Where the
 * path has `[]`, an empty array or a value that is no array gives one undefined.
 */
export function readPath(root: Json | undefined, parts: readonly PathPart[]): (Json | undefined)[] {
  let values: (Json | undefined)[] = [root]
  for (const { name, each } of parts) {
    values = values.map((value) => own(value, name))
    for (let i = 0; i < each; i++) values = values.flatMap(elements)
  }
  return values
}

function elements(value: Json | undefined): (Json | undefined)[] {
  return Array.isArray(value) && value.length > 0 ? value : [undefined]
}

/** JSON equality: types must be the same, so 1 is not equal to "1". The order of keys does not matter. */
export function jsonEquals(a: Json, b: Json): boolean {
  if (a === b) return true
  if (Array.isArray(a)) {
    return (
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, i) => jsonEquals(item, b[i] ?? null))
    )
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => {
      const other = own(b, key)
      return other !== undefined && jsonEquals(own(a, key) ?? null, other)
    })
  )
}
