// Finds everything that is wrong with a condition before it may decide anything.

import type { Problem } from '../design/problem.ts'
import type { ProblemCode } from '../design/problemCodes.ts'
import { eventNameFault, happenings, isEventName } from '../eventNames.ts'
import { isJsonObject, type JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { didYouMean, listed, mustBeOneOf, shown, typeName } from '../shown.ts'
import { type Field, type FieldRoot, fieldsOf, parseField } from './fields.ts'
import { valueFault } from './operatorValues.ts'
import { activityStatuses, conditionTypes, countOperators, operators } from './types.ts'

/** A trigger's filter runs before there is an execution, and a segment is asked without any event; only a wait's filter knows `trigger.*`. */
export type ConditionScope = 'node' | 'trigger_filter' | 'wait_filter' | 'segment'

/** What a field may begin with, by where the condition stands. */
const rootsKnown: Record<ConditionScope, readonly FieldRoot[]> = {
  node: ['contact', 'properties', 'event', 'wait_events', 'steps', 'execution'],
  trigger_filter: ['contact', 'properties', 'event'],
  wait_filter: ['contact', 'properties', 'event', 'trigger', 'wait_events', 'steps', 'execution'],
  segment: ['contact', 'properties'],
}

export interface ConditionContext {
  nodeId: string | null
  scope: ConditionScope
  /** Ids of the design's wait_for_event nodes; absent: not checked. */
  waitNodes?: ReadonlySet<string>
  /** Ids of its send_email nodes; absent: not checked. */
  sendNodes?: ReadonlySet<string>
  /** Names by which its nodes keep answers; absent: not checked. */
  storedNames?: ReadonlySet<string>
  /** Ids of the workspace's audiences that the caller found; absent: not checked. */
  audiences?: ReadonlySet<string>
  /** Ids of its segments that the caller found; absent: not checked. */
  segments?: ReadonlySet<string>
}

/**
 * Every problem of a condition; `path` is the dotted path of the condition itself. Total: takes any JSON.
 * Codes: empty_condition, unknown_condition_type, unknown_operator, unknown_field, bad_value, unknown_node,
 * unknown_audience, unknown_segment, condition_too_deep, condition_too_large.
 */
export function validateCondition(
  condition: unknown,
  path: string,
  context: ConditionContext,
): Problem[] {
  return checkCondition(condition, { path, depth: 1, rules: { count: 0 }, context })
}

interface Place {
  path: string
  depth: number
  /** Counts the rules of the whole condition. */
  rules: { count: number }
  context: ConditionContext
}

function problem(at: Place, key: string, code: ProblemCode, message: string): Problem[] {
  const path = key === '' ? at.path : `${at.path}.${key}`
  return [{ node_id: at.context.nodeId, path, message, code }]
}

function checkCondition(value: unknown, at: Place): Problem[] {
  if (!isJsonObject(value) || Object.keys(value).length === 0) {
    const came = isJsonObject(value) ? 'an empty object' : typeName(value)
    return problem(at, '', 'empty_condition', `a condition with a type is required, not ${came}`)
  }
  if (at.depth > limits.conditionDepthMax) {
    const message = `conditions must not nest deeper than ${limits.conditionDepthMax} levels`
    return problem(at, '', 'condition_too_deep', message)
  }
  at.rules.count++
  if (at.rules.count > limits.conditionRulesMax) {
    const message = `a condition must not hold more than ${limits.conditionRulesMax} rules in all`
    const isFirst = at.rules.count === limits.conditionRulesMax + 1
    return isFirst ? problem(at, '', 'condition_too_large', message) : []
  }
  switch (value['type']) {
    case 'and':
    case 'or':
    case 'not':
      return checkRules(value, at)
    case 'rule':
      return [...checkField(value['field'], at), ...checkOperator(value, at)]
    case 'event_count':
      return checkEventCount(value, at)
    case 'email_activity':
      return checkEmailActivity(value, at)
    case 'audience':
      return checkMembership(value, at, 'audience')
    case 'segment':
      return checkMembership(value, at, 'segment')
    default:
      return problem(
        at,
        'type',
        'unknown_condition_type',
        `type ${mustBeOneOf(conditionTypes, value['type'])}`,
      )
  }
}

function checkRules(value: JsonObject, at: Place): Problem[] {
  const rules = value['rules']
  if (!Array.isArray(rules) || rules.length === 0) {
    const came = Array.isArray(rules) ? 'an empty array' : typeName(rules)
    const message = `rules must be an array of at least one condition, not ${came}`
    return problem(at, 'rules', 'empty_condition', message)
  }
  const inner = rules.flatMap((rule, i) =>
    checkCondition(rule, { ...at, path: `${at.path}.rules.${i}`, depth: at.depth + 1 }),
  )
  if (value['type'] !== 'not' || rules.length === 1) return inner
  const message = `rules of not must be exactly one, has ${rules.length}; join several with and or or`
  return [...problem(at, 'rules', 'bad_value', message), ...inner]
}

function checkField(text: unknown, at: Place): Problem[] {
  const field = typeof text === 'string' ? parseField(text) : null
  const { scope } = at.context
  const known = rootsKnown[scope]
  if (!field || !known.includes(field.root)) {
    const message = `field must be ${fieldsOf(known)}, not ${shown(text)}`
    return problem(at, 'field', 'unknown_field', message)
  }
  const fault = unkeptFault(field, at.context)
  return fault === null ? [] : problem(at, 'field', 'unknown_node', `field: ${fault}`)
}

/** What is wrong with a field of `wait_events.*` or `steps.*` that no node of the design leaves behind; null: nothing. */
export function unkeptFault(
  { root, path }: Field,
  { waitNodes, storedNames }: Pick<ConditionContext, 'waitNodes' | 'storedNames'>,
): string | null {
  const name = path[0]?.name ?? ''
  if (root === 'wait_events' && waitNodes?.has(name) === false) return noWaitNode(name, waitNodes)
  if (root !== 'steps' || storedNames?.has(name) !== false) return null
  const known = storedNames.size === 0 ? 'there is none' : `there are ${listed(storedNames)}`
  return `${shown(name)} is not the store_as of an http_request node; ${known}`
}

/** That `wait_events.<id>` names no such node, and which there are. */
function noWaitNode(id: string, waitNodes: ReadonlySet<string>): string {
  const known = waitNodes.size === 0 ? 'there is none' : `there are ${listed(waitNodes)}`
  return `${shown(id)} is not the id of a wait_for_event node; ${known}`
}

function checkOperator(value: JsonObject, at: Place): Problem[] {
  const problems: Problem[] = []
  const ci = value['ci']
  if (ci !== undefined && typeof ci !== 'boolean') {
    problems.push(...problem(at, 'ci', 'bad_value', `ci must be true or false, not ${shown(ci)}`))
  }
  const operator = operators.find((name) => name === value['operator'])
  if (!operator) {
    const message = `operator ${mustBeOneOf(operators, value['operator'])}`
    return [...problems, ...problem(at, 'operator', 'unknown_operator', message)]
  }
  const needs = valueFault(operator, value['value'])
  if (needs === null) return problems
  const message = `value must be ${needs} beside ${operator}, not ${shown(value['value'])}`
  return [...problems, ...problem(at, 'value', 'bad_value', message)]
}

/** What happens when somebody enters or leaves a segment. */
const segmentMoves: ReadonlySet<string> = new Set([
  happenings.segmentEntered,
  happenings.segmentLeft,
])

function checkEventCount(value: JsonObject, at: Place): Problem[] {
  const problems: Problem[] = []
  const name = value['event_name']
  if (!isEventName(name)) {
    problems.push(...problem(at, 'event_name', 'bad_value', `event_name ${eventNameFault(name)}`))
  }
  if (at.context.scope === 'segment' && segmentMoves.has(String(name))) {
    const message = `event_name must not be ${shown(name)} in a segment, which would change by its own changes`
    problems.push(...problem(at, 'event_name', 'bad_value', message))
  }
  if (!countOperators.some((name) => name === value['operator'])) {
    const message = `operator ${mustBeOneOf(countOperators, value['operator'])}`
    problems.push(...problem(at, 'operator', 'unknown_operator', message))
  }
  if (!isCount(value['value'])) {
    const message = `value must be a whole number, 0 or more, not ${shown(value['value'])}`
    problems.push(...problem(at, 'value', 'bad_value', message))
  }
  const within = value['within_ms']
  if (within !== undefined && !(isCount(within) && within > 0)) {
    const message = `within_ms must be a whole number, 1 or more, not ${shown(within)}`
    problems.push(...problem(at, 'within_ms', 'bad_value', message))
  }
  return problems
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

function checkEmailActivity(value: JsonObject, at: Place): Problem[] {
  const { scope, sendNodes } = at.context
  const problems: Problem[] = []
  const node = value['node_id']
  if (scope === 'trigger_filter' || scope === 'segment') {
    const who = scope === 'segment' ? 'a segment' : 'a filter of a trigger'
    const message = `type email_activity asks after mail of an execution, and ${who} has none`
    problems.push(...problem(at, '', 'unknown_field', message))
  } else if (typeof node !== 'string' || (node !== 'any' && sendNodes?.has(node) === false)) {
    problems.push(...problem(at, 'node_id', 'unknown_node', noSendNode(node, sendNodes)))
  }
  if (!activityStatuses.some((name) => name === value['status'])) {
    const message = `status ${mustBeOneOf(activityStatuses, value['status'])}`
    problems.push(...problem(at, 'status', 'bad_value', message))
  }
  return problems
}

function noSendNode(id: unknown, sendNodes: ReadonlySet<string> | undefined): string {
  const known = sendNodes && sendNodes.size > 0 ? ` (${listed(sendNodes)})` : ''
  const hint = didYouMean(id, [...(sendNodes ?? [])])
  return `node_id must be the id of a send_email node${known} or any, not ${shown(id)}${hint}`
}

function checkMembership(value: JsonObject, at: Place, of: 'audience' | 'segment'): Problem[] {
  const problems: Problem[] = []
  const key = `${of}_id`
  const id = value[key]
  const known = of === 'audience' ? at.context.audiences : at.context.segments
  if (typeof id !== 'string' || id === '') {
    const message = `${key} must be the id of ${of === 'audience' ? 'an' : 'a'} ${of}, not ${shown(id)}`
    problems.push(...problem(at, key, 'bad_value', message))
  } else if (known?.has(id) === false) {
    const message = `${key}: this workspace has no ${of} ${shown(id)}`
    problems.push(...problem(at, key, `unknown_${of}`, message))
  }
  if (typeof value['member'] !== 'boolean') {
    const message = `member must be true or false, not ${shown(value['member'])}`
    problems.push(...problem(at, 'member', 'bad_value', message))
  }
  return problems
}
