// Applies the changes of an update_contact node to properties: set with variables, unset and increment by dot
// path.

import { isMany, parseField, readOne } from '../conditions/fields.ts'
import type { ConditionFacts } from '../conditions/types.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { findJsonFault } from '../jsonFault.ts'
import { limits } from '../limits.ts'
import { own, parsePath, setOwn } from '../paths.ts'
import { mergeProperties } from './merge.ts'

export interface PropertyChange {
  set?: JsonObject
  /** Dot paths. */
  unset?: string[]
  /** Numbers to add, by dot path. */
  increment?: Record<string, number>
}

export interface PropertyUpdate {
  /** The same object when nothing changed. */
  properties: JsonObject
  /** What was left unchanged and why, one short sentence each. */
  notes: string[]
}

/**
 * Applies set, then unset, then increment. `set` merges as `mergeProperties` does (keys are not
 * paths, null deletes). A value `{"var": "event.x"}` is replaced by that fact; if the fact is missing, its key is left
 * unchanged. If the result is too large or too deep to store, nothing changes.
 */
export function applyUpdate(data: PropertyChange, facts: ConditionFacts): PropertyUpdate {
  const notes: string[] = []
  const before = facts.contact.properties
  const draft = draftOf(mergeProperties(before, resolveObject(data.set ?? {}, facts, notes)))
  for (const path of data.unset ?? []) {
    const names = propertyPath(path) ?? []
    if (names.length > 0 && valueAt(draft.properties(), names) !== undefined)
      draft.put(names, undefined)
  }
  for (const [path, by] of Object.entries(data.increment ?? {})) {
    const names = propertyPath(path) ?? []
    const sum = (numberAt(draft.properties(), names) ?? Number.NaN) + by
    if (!Number.isFinite(sum)) notes.push(`${path} is not a number`)
    else if (valueAt(draft.properties(), names) !== sum) draft.put(names, sum)
  }
  const properties = draft.properties()
  const fault = properties === before ? null : findJsonFault(properties, limits.propertiesBytesMax)
  return fault
    ? { properties: before, notes: [`properties are unchanged: they ${fault.message}`] }
    : { properties, notes }
}

/** The path of a `{"var": path}` value; null for any other value. */
export function variablePath(value: Json): string | null {
  const path = own(value, 'var')
  return typeof path === 'string' && Object.keys(value as object).length === 1 ? path : null
}

/** True if the path names exactly one fact of an execution. */
export function isVariable(path: string): boolean {
  const field = parseField(path)
  return field !== null && field.root !== 'trigger' && !isMany(field)
}

/**
 * The properties that a design describes: `{"var": path}` stands for a fact, and a fact that is missing leaves its key out, with a
 * note. `object` itself is never a variable: its keys are properties, one named `var` too.
 * @param text makes the texts of the design, not those of facts
 */
export function resolveObject(
  object: JsonObject,
  facts: ConditionFacts,
  notes: string[],
  text: (written: string) => string = (written) => written,
): JsonObject {
  const resolved: JsonObject = {}
  for (const key of Object.keys(object)) {
    const value = resolveValue(own(object, key) ?? null, facts, notes, text)
    if (value !== undefined) setOwn(resolved, key, value)
  }
  return resolved
}

/** A fact is data: a `var` inside it is not replaced. */
function resolveValue(
  value: Json,
  facts: ConditionFacts,
  notes: string[],
  text: (written: string) => string,
): Json | undefined {
  const path = variablePath(value)
  if (path !== null) {
    const fact = isVariable(path) ? readOne(path, facts) : undefined
    if (fact === undefined) notes.push(`${path} is missing`)
    return fact
  }
  if (typeof value === 'string') return text(value)
  if (Array.isArray(value)) {
    return value.map((item) => resolveValue(item, facts, notes, text) ?? null)
  }
  return isJsonObject(value) ? resolveObject(value, facts, notes, text) : value
}

/**
 * The names along a property path. A leading `properties.`, as in conditions, is allowed. Null if it is malformed.
 */
export function propertyPath(text: string): string[] | null {
  const parts = parsePath(text)
  if (!parts || parts.some((part) => part.each > 0)) return null
  const names = parts.map((part) => part.name)
  return names[0] === 'properties' && names.length > 1 ? names.slice(1) : names
}

const valueAt = (properties: JsonObject, names: readonly string[]): Json | undefined =>
  names.reduce<Json | undefined>(own, properties)

/**
 * Properties that are changed value by value. Each object on the way to a change is copied once: copies of large properties for
 * each of thousands of paths would take minutes.
 */
function draftOf(stored: JsonObject) {
  let root = stored
  const copies = new Set<JsonObject>()
  const copied = (object: JsonObject): JsonObject => {
    if (copies.has(object)) return object
    const copy = { ...object }
    copies.add(copy)
    return copy
  }
  return {
    /** `stored` itself while nothing was put. */
    properties: () => root,
    /** Sets the value at a path, on which stand objects or nothing. @param value undefined deletes what is there */
    put(names: readonly string[], value: Json | undefined): void {
      root = copied(root)
      let at = root
      for (const name of names.slice(0, -1)) {
        const inner = own(at, name)
        const next = copied(isJsonObject(inner) ? inner : {})
        setOwn(at, name, next)
        at = next
      }
      const last = names.at(-1) ?? ''
      if (value === undefined) delete at[last]
      else setOwn(at, last, value)
    },
  }
}

/** The number at a path; 0 if nothing is there; null if there is another value at the path or on the way to it. */
function numberAt(properties: JsonObject, names: readonly string[]): number | null {
  let at: Json | undefined = properties
  for (const name of names) {
    if (!isJsonObject(at)) return null
    at = own(at, name)
    if (at === undefined) return 0
  }
  return typeof at === 'number' ? at : null
}
