// Properties that a node makes for somebody else: values of the design, facts by `{"var"}`, and Liquid texts.

import { type CheckAt, problemAt } from '../design/context.ts'
import { checkObject, checkVariable, isGiven } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import type { TextForm } from '../interpreterTypes.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { findJsonFault } from '../jsonFault.ts'
import { limits } from '../limits.ts'
import { resolveObject, variablePath } from '../properties/update.ts'
import { shownText } from '../shown.ts'
import type { Place } from './define.ts'

type Made = { ok: true; properties: JsonObject } | { ok: false; why: string }

const isLiquid = (text: string): boolean => text.includes('{{') || text.includes('{%')

/** Renders the Liquid texts of one node; the first that does not render is why there is no result. */
export function createTexts({ nodeId, facts, tools }: Place) {
  let why: string | null = null
  return {
    /** A text without Liquid stays as it is; one that does not render is empty. */
    render(source: string, form?: TextForm): string {
      if (!isLiquid(source)) return source
      const text = tools.renderText?.(nodeId, source, facts, form) ?? { ok: true, text: source }
      if (!text.ok) why ??= text.why
      return text.ok ? text.text : ''
    },
    /** Null while all have rendered. */
    why: (): string | null => why,
  }
}

/**
 * Makes the properties that a design describes. A field that is missing leaves its key out. A text from a field is data: it
 * is not rendered.
 */
export function makeProperties(design: JsonObject, place: Place): Made {
  const texts = createTexts(place)
  const properties = resolveObject(design, place.facts, [], (written) => texts.render(written))
  const why = texts.why()
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
  return checkPlaces(at, 'properties', found)
}

/** What is wrong with places of a field: variables that cannot be read, texts that are no Liquid. */
export function checkPlaces(at: CheckAt, field: string, found: MadePlace[]): Problem[] {
  if (found.length > limits.variablesPerNodeMax) {
    const most = `${limits.variablesPerNodeMax} variables and Liquid texts`
    const message = `${field} must not use more than ${most}, has ${found.length}`
    return problemAt(at, field, 'too_many', message)
  }
  return found.flatMap(({ key, path, text }) => {
    if (path === null) {
      const fault = at.context.liquidProblem?.(text) ?? null
      return fault === null ? [] : problemAt(at, key, 'bad_template_text', `${key}: ${fault}`)
    }
    return checkVariable(at, key, path)
  })
}

interface MadePlace {
  key: string
  /** Of a variable; null for a Liquid text. */
  path: string | null
  text: string
}

/** Each `{"var"}` and each Liquid text of a value; the shape has bounded the depth. */
export function placesOf(value: Json, key: string): MadePlace[] {
  const path = variablePath(value)
  if (path !== null) return [{ key, path, text: '' }]
  if (typeof value === 'string') return isLiquid(value) ? [{ key, path: null, text: value }] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    placesOf(inner, `${key}.${shownText(name)}`),
  )
}
