// The data of each node type: everything that must hold before it may run.

import { parseField } from '../conditions/fields.ts'
import { eventField } from '../conditions/waitFilter.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { isVariable, propertyPath, variablePath } from '../properties/update.ts'
import { type CheckAt, problemAt } from './context.ts'
import {
  checkCondition,
  checkDuration,
  checkEventName,
  checkFactName,
  checkMs,
  checkOneOf,
  checkOptionalCondition,
  checkText,
  isGiven,
} from './fieldChecks.ts'
import { isGraphId } from './shape.ts'
import type { Problem } from './types.ts'

export { checkSendEmail } from './sendEmailCheck.ts'

/** Kinds that a trigger may have. */
const triggerKinds = ['event', 'manual']
const reEntryModes = ['every', 'once', 'after_exit', 'interval']
const matchRowsMax = 20

export function checkTrigger(at: CheckAt): Problem[] {
  const kind = at.data['kind']
  if (typeof kind !== 'string' || !triggerKinds.includes(kind)) {
    const message = `kind must be one of ${triggerKinds.join(', ')}`
    return problemAt(at, 'kind', 'unsupported_trigger_kind', message)
  }
  return [
    ...(kind === 'event' ? checkEventName(at, 'event_name') : []),
    ...(kind === 'event' ? checkOptionalCondition(at, 'filter', 'trigger_filter') : []),
    ...checkReEntry(at),
  ]
}

function checkReEntry(at: CheckAt): Problem[] {
  const value = at.data['re_entry']
  if (!isGiven(value)) return []
  if (!isJsonObject(value))
    return problemAt(at, 're_entry', 'bad_value', 're_entry must be an object')
  const inner: CheckAt = { ...at, path: `${at.path}.re_entry`, data: value }
  const { mode, min_interval_ms: interval, key_path: key } = value
  const problems = [
    ...checkOneOf(inner, 'mode', reEntryModes),
    ...checkMs(inner, 'min_interval_ms'),
  ]
  if (mode === 'interval' && !isGiven(interval)) {
    const message = 'mode interval needs min_interval_ms'
    problems.push(...problemAt(inner, 'min_interval_ms', 'missing_value', message))
  }
  if (isGiven(key) && !(typeof key === 'string' && isPropertyPath(key))) {
    const message = 'key_path must be a path of the event, such as order_id'
    problems.push(...problemAt(inner, 'key_path', 'unknown_field', message))
  }
  return problems
}

export function checkDelay(at: CheckAt): Problem[] {
  const given = [at.data['duration'], at.data['ms']].filter(isGiven).length
  const message = 'exactly one of duration and ms is required'
  return [
    ...(given === 1 ? [] : problemAt(at, 'duration', 'bad_duration', message)),
    ...checkDuration(at, 'duration'),
    ...checkMs(at, 'ms'),
    ...checkMs(at, 'jitter_ms'),
  ]
}

export function checkWaitForEvent(at: CheckAt): Problem[] {
  return [
    ...checkEventName(at, 'event_name'),
    ...checkOptionalCondition(at, 'filter', 'wait_filter'),
    ...checkMatch(at),
    ...checkDuration(at, 'timeout'),
    ...checkMs(at, 'lookback_ms'),
  ]
}

function checkMatch(at: CheckAt): Problem[] {
  const match = at.data['match']
  if (!isGiven(match)) return []
  if (!Array.isArray(match) || match.length > matchRowsMax) {
    return problemAt(
      at,
      'match',
      'bad_value',
      `match must be an array of up to ${matchRowsMax} rows`,
    )
  }
  return match.flatMap((row, i) => {
    const key = `match.${i}`
    if (!isJsonObject(row)) return problemAt(at, key, 'bad_value', 'a row must be an object')
    const path = row['event_path']
    const isPath = typeof path === 'string' && parseField(eventField(path)) !== null
    const message = 'must be a path of the event, such as order_id'
    return [
      ...(isPath ? [] : problemAt(at, `${key}.event_path`, 'unknown_field', message)),
      ...checkFactName(at, `${key}.equals_path`, row['equals_path']),
    ]
  })
}

export function checkConditionNode(at: CheckAt): Problem[] {
  return checkCondition(at, 'condition', 'node')
}

export function checkBranch(at: CheckAt): Problem[] {
  const branches = at.data['branches']
  if (!Array.isArray(branches) || branches.length === 0) {
    return problemAt(at, 'branches', 'missing_value', 'at least one branch is required')
  }
  if (branches.length > limits.branchesPerNodeMax) {
    const message = `a node may have ${limits.branchesPerNodeMax} branches`
    return problemAt(at, 'branches', 'too_many', message)
  }
  const seen = new Set<string>(['else'])
  return branches.flatMap((branch, i) => checkOneBranch(at, branch, `branches.${i}`, seen))
}

function checkOneBranch(at: CheckAt, branch: Json, key: string, seen: Set<string>): Problem[] {
  if (!isJsonObject(branch)) return problemAt(at, key, 'bad_value', 'a branch must be an object')
  const problems = checkCondition(at, `${key}.condition`, 'node', branch['condition'])
  const inner: CheckAt = { ...at, path: `${at.path}.${key}`, data: branch }
  problems.push(...checkText(inner, 'label', limits.nameCharsMax))
  const id = branch['id']
  if (!isGraphId(id)) {
    const message = `id must be 1-${limits.nodeIdCharsMax} of A-Z a-z 0-9 _ -`
    return [...problems, ...problemAt(inner, 'id', 'bad_id', message)]
  }
  if (seen.has(id)) {
    problems.push(...problemAt(inner, 'id', 'duplicate_id', `the id ${id} is taken`))
  }
  seen.add(id)
  return problems
}

export function checkUpdateContact(at: CheckAt): Problem[] {
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

const isPropertyPath = (value: unknown): boolean =>
  typeof value === 'string' && propertyPath(value) !== null

/** Every `{"var"}` in `set` names one fact; readShape has bounded the depth. */
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
