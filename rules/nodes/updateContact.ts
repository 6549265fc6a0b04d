// Changes the contact's properties: sets, unsets and increments.
import { z } from 'zod'
import { anyObject } from '../conditions/schema.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkVariable, isGiven, isPropertyPath } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { applyUpdate, variablePath } from '../properties/update.ts'
import { shown, shownText, typeName } from '../shown.ts'
import { always, defineNode, namesNothing, never, noConditions } from './define.ts'
import { failStep } from './moves.ts'

const data = z
  .object({
    set: anyObject
      .describe(
        'Merged into the properties: `null` deletes a property, objects merge, other values replace. ' +
          '`{"var": "event.plan"}` stands for the value of that field',
      )
      .exactOptional(),
    unset: z
      .array(z.string().max(limits.pathCharsMax))
      .describe('Dot paths of properties to delete')
      .exactOptional(),
    increment: z
      .record(z.string(), z.number())
      .describe('Numbers to add, by dot path; a missing property counts as 0')
      .exactOptional(),
  })
  .describe('At least one of `set`, `unset` and `increment`, which act in this order')

function check(at: CheckAt): Problem[] {
  const { set, unset, increment } = at.data
  if (![set, unset, increment].some(isGiven)) {
    return problemAt(
      at,
      '',
      'missing_value',
      'at least one of set, unset and increment is required',
    )
  }
  const problems: Problem[] = []
  if (isGiven(set)) {
    if (isJsonObject(set)) problems.push(...checkVariables(at, set))
    else
      problems.push(
        ...problemAt(at, 'set', 'bad_value', `set must be an object, not ${typeName(set)}`),
      )
  }
  if (isGiven(unset)) {
    const wrong = Array.isArray(unset) ? unset.find((path) => !isPropertyPath(path)) : unset
    const message = `unset must be an array of dot paths such as address.city, not ${shown(wrong)}`
    if (wrong !== undefined) problems.push(...problemAt(at, 'unset', 'bad_value', message))
  }
  if (isGiven(increment)) {
    const wrong = wrongIncrement(increment)
    const message = `increment must map dot paths such as visits.count to numbers, not ${wrong}`
    if (wrong !== null) problems.push(...problemAt(at, 'increment', 'bad_value', message))
  }
  return problems
}

/** What stands where an object of paths and numbers belongs; null when it is one. */
function wrongIncrement(increment: Json): string | null {
  if (!isJsonObject(increment)) return typeName(increment)
  const wrong = Object.entries(increment).find(
    ([path, by]) => !isPropertyPath(path) || typeof by !== 'number',
  )
  return wrong ? `${shown(wrong[0])} to ${shown(wrong[1])}` : null
}

/** Every `{"var"}` in `set` names one fact; the shape has bounded the depth. */
function checkVariables(at: CheckAt, set: JsonObject): Problem[] {
  // `set` itself is never a variable: its keys are properties, one named `var` too.
  const found = Object.entries(set).flatMap(([key, value]) => variables(value, inSet('set', key)))
  if (found.length > limits.variablesPerNodeMax) {
    const most = `${limits.variablesPerNodeMax} variables`
    const message = `set must not use more than ${most}, has ${found.length}`
    return problemAt(at, 'set', 'too_many', message)
  }
  return found.flatMap(({ key, path }) => checkVariable(at, key, path))
}

/** The path of a key, which is the customer's own text, in paths and messages. */
const inSet = (path: string, key: string): string => `${path}.${shownText(key)}`

function variables(value: Json, key: string): { key: string; path: string }[] {
  const path = variablePath(value)
  if (path !== null) return [{ key, path }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => variables(inner, inSet(key, name)))
}

export const updateContact = defineNode({
  type: 'update_contact',
  summary: "Changes the contact's properties: sets, deletes, counts.",
  data,
  handles: always('default'),
  handleTexts: { default: 'Always; what could not be changed stands in `why`' },
  waits: never,
  check,
  conditions: noConditions,
  names: namesNothing,
  enter(data, place) {
    const { facts } = place
    if (facts.depth >= limits.executionChainMax) return failStep('chain_too_deep', place)
    const { properties, notes } = applyUpdate(data, facts)
    return {
      handle: 'default',
      why: notes.length > 0 ? notes.join('; ').slice(0, limits.stepWhyCharsMax) : null,
      facts: { ...facts, contact: { ...facts.contact, properties } },
    }
  },
})
