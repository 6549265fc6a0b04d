// Changes the contact's properties: sets, unsets and increments.
import { z } from 'zod'
import { anyObject } from '../conditions/schema.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkFactName, isGiven, isPropertyPath } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { applyUpdate, isVariable, variablePath } from '../properties/update.ts'
import { always, defineNode, namesNothing, never, noConditions } from './define.ts'

const data = z
  .object({
    set: anyObject
      .describe(
        'Merged into the properties: null deletes, objects merge, other values replace. ' +
          '`{"var": "event.plan"}` stands for that fact',
      )
      .exactOptional(),
    unset: z
      .array(z.string().max(limits.pathCharsMax))
      .describe('Dot paths of properties that go')
      .exactOptional(),
    increment: z
      .record(z.string(), z.number())
      .describe('Numbers to add, by dot path; an absent property counts as 0')
      .exactOptional(),
  })
  .describe('At least one of `set`, `unset` and `increment`, which act in this order')

function check(at: CheckAt): Problem[] {
  const { set, unset, increment } = at.data
  if (![set, unset, increment].some(isGiven)) {
    return problemAt(at, '', 'missing_value', 'set, unset or increment is required')
  }
  const problems: Problem[] = []
  if (isGiven(set)) {
    if (isJsonObject(set)) problems.push(...checkVariables(at, set))
    else problems.push(...problemAt(at, 'set', 'bad_value', 'set must be an object'))
  }
  if (isGiven(unset) && !(Array.isArray(unset) && unset.every(isPropertyPath))) {
    problems.push(...problemAt(at, 'unset', 'bad_value', 'unset must be an array of dot paths'))
  }
  if (isGiven(increment)) {
    const isValid =
      isJsonObject(increment) &&
      Object.entries(increment).every(
        ([path, by]) => isPropertyPath(path) && typeof by === 'number',
      )
    const message = 'increment must map dot paths to numbers'
    if (!isValid) problems.push(...problemAt(at, 'increment', 'bad_value', message))
  }
  return problems
}

/** Every `{"var"}` in `set` names one fact; the shape has bounded the depth. */
function checkVariables(at: CheckAt, set: JsonObject): Problem[] {
  // `set` itself is never a variable: its keys are properties, one named `var` too.
  const found = Object.entries(set).flatMap(([key, value]) => variables(value, `set.${key}`))
  const problems = found.flatMap(({ key, path }) =>
    isVariable(path)
      ? checkFactName(at, key, path)
      : problemAt(at, key, 'unknown_field', 'var must name one field, such as event.plan'),
  )
  if (found.length <= limits.variablesPerNodeMax) return problems
  const message = `a node may use ${limits.variablesPerNodeMax} variables`
  return [...problems, ...problemAt(at, 'set', 'too_many', message)]
}

function variables(value: Json, key: string): { key: string; path: string }[] {
  const path = variablePath(value)
  if (path !== null) return [{ key, path }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => variables(inner, `${key}.${name}`))
}

export const updateContact = defineNode({
  type: 'update_contact',
  summary: "Changes the contact's properties.",
  data,
  handles: always('default'),
  waits: never,
  check,
  conditions: noConditions,
  names: namesNothing,
  enter(data, { facts }) {
    const { properties, notes } = applyUpdate(data, facts)
    return {
      handle: 'default',
      why: notes.length > 0 ? notes.join('; ').slice(0, limits.stepWhyCharsMax) : null,
      facts: { ...facts, contact: { ...facts.contact, properties } },
    }
  },
})
