// Properties that a node makes for somebody else: values of the design, facts by `{"var"}`, and Liquid texts.

import { readOne } from '../conditions/fields.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkFactName, checkObject, isGiven } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { findJsonFault } from '../jsonFault.ts'
import { limits } from '../limits.ts'
import { setOwn } from '../paths.ts'
import { isVariable, variablePath } from '../properties/update.ts'
import { shown, shownText } from '../shown.ts'
import type { Place } from './define.ts'

type Made = { ok: true; properties: JsonObject } | { ok: false; why: string }

const isLiquid = (text: string): boolean => text.includes('{{') || text.includes('{%')

/**
 * Makes the properties that a design describes. A field that is missing leaves its key out. A text from a field is data: it
 * is not rendered.
 */
export function makeProperties(design: JsonObject, { nodeId, facts, tools }: Place): Made {
  let why: string | null = null
  const make = (value: Json): Json | undefined => {
    const path = variablePath(value)
    if (path !== null) return isVariable(path) ? readOne(path, facts) : undefined
    if (typeof value === 'string') {
      if (!isLiquid(value)) return value
      const text = tools.renderText?.(nodeId, value, facts) ?? { ok: true, text: value }
      if (!text.ok) why ??= text.why
      return text.ok ? text.text : ''
    }
    if (Array.isArray(value)) return value.map((item) => make(item) ?? null)
    if (!isJsonObject(value)) return value
    const made: JsonObject = {}
    for (const [key, inner] of Object.entries(value)) {
      const one = make(inner)
      if (one !== undefined) setOwn(made, key, one)
    }
    return made
  }
  // `design` itself is never a variable: its keys are properties, one named `var` too.
  const properties: JsonObject = {}
  for (const [key, value] of Object.entries(design)) {
    const one = make(value)
    if (one !== undefined) setOwn(properties, key, one)
  }
  if (why !== null) return { ok: false, why }
  const fault = findJsonFault(properties, limits.propertiesBytesMax)
  return fault ? { ok: false, why: `properties ${fault.message}` } : { ok: true, properties }
}

/** What is wrong with `properties`: fields that cannot be read, texts that are no Liquid. */
export function checkMadeProperties(at: CheckAt): Problem[] {
  const given = at.data['properties']
  if (!isGiven(given) || !isJsonObject(given)) return checkObject(at, 'properties')
  const found = Object.entries(given).flatMap(([key, value]) =>
    placesOf(value, `properties.${shownText(key)}`),
  )
  if (found.length > limits.variablesPerNodeMax) {
    const most = `${limits.variablesPerNodeMax} variables and Liquid texts`
    const message = `properties must not use more than ${most}, has ${found.length}`
    return problemAt(at, 'properties', 'too_many', message)
  }
  return found.flatMap(({ key, path, text }) => {
    if (path === null) {
      const fault = at.context.liquidProblem?.(text) ?? null
      return fault === null ? [] : problemAt(at, key, 'bad_template_text', `${key}: ${fault}`)
    }
    if (isVariable(path)) return checkFactName(at, key, path)
    const message = `var must name one field such as event.plan, not ${shown(path)}`
    return problemAt(at, key, 'unknown_field', message)
  })
}

/** Each `{"var"}` and each Liquid text below a value; the shape has bounded the depth. */
function placesOf(value: Json, key: string): { key: string; path: string | null; text: string }[] {
  const path = variablePath(value)
  if (path !== null) return [{ key, path, text: '' }]
  if (typeof value === 'string') return isLiquid(value) ? [{ key, path: null, text: value }] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    placesOf(inner, `${key}.${shownText(name)}`),
  )
}
