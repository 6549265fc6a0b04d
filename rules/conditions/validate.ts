// Finds everything that is wrong with a condition before it may decide anything.

import type { Problem } from '../design/problem.ts'
import { isEventName } from '../eventNames.ts'
import { isJsonObject, type JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { parseField } from './fields.ts'
import { valueFault } from './operatorValues.ts'
import { activityStatuses, countOperators, operators } from './types.ts'

/** A trigger's filter runs before there is an execution; only a wait's filter knows `trigger.*`. */
export type ConditionScope = 'node' | 'trigger_filter' | 'wait_filter'

export interface ConditionContext {
  nodeId: string | null
  scope: ConditionScope
  /** Ids of the design's wait_for_event and send_email nodes; absent: not checked. */
  waitNodes?: ReadonlySet<string>
  sendNodes?: ReadonlySet<string>
  /** Ids of the workspace's audiences that the caller found; absent: not checked. */
  audiences?: ReadonlySet<string>
}

/**
 * Every problem of a condition; `path` is the dotted path of the condition itself. Total: takes any JSON.
 * Codes: empty_condition, unknown_condition_type, unknown_operator, unknown_field, bad_value, unknown_node,
 * unknown_audience, condition_too_deep, condition_too_large.
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

function problem(at: Place, key: string, code: string, message: string): Problem[] {
  const path = key === '' ? at.path : `${at.path}.${key}`
  return [{ node_id: at.context.nodeId, path, message, code }]
}

function checkCondition(value: unknown, at: Place): Problem[] {
  if (!isJsonObject(value) || Object.keys(value).length === 0) {
    return problem(at, '', 'empty_condition', 'a condition is required')
  }
  if (at.depth > limits.conditionDepthMax) {
    const message = `conditions may nest ${limits.conditionDepthMax} levels`
    return problem(at, '', 'condition_too_deep', message)
  }
  at.rules.count++
  if (at.rules.count > limits.conditionRulesMax) {
    const message = `a condition may hold ${limits.conditionRulesMax} rules`
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
      return checkAudience(value, at)
    default:
      return problem(at, 'type', 'unknown_condition_type', 'unknown condition type')
  }
}

function checkRules(value: JsonObject, at: Place): Problem[] {
  const rules = value['rules']
  if (!Array.isArray(rules) || rules.length === 0) {
    return problem(at, 'rules', 'empty_condition', 'at least one rule is required')
  }
  const inner = rules.flatMap((rule, i) =>
    checkCondition(rule, { ...at, path: `${at.path}.rules.${i}`, depth: at.depth + 1 }),
  )
  if (value['type'] !== 'not' || rules.length === 1) return inner
  const message = 'not takes one rule: join several with and or or'
  return [...problem(at, 'rules', 'bad_value', message), ...inner]
}

function checkField(text: unknown, at: Place): Problem[] {
  const field = typeof text === 'string' ? parseField(text) : null
  if (!field) return problem(at, 'field', 'unknown_field', 'unknown field')
  const { scope, waitNodes } = at.context
  const isForeign =
    scope === 'trigger_filter'
      ? ['trigger', 'wait_events', 'execution'].includes(field.root)
      : scope === 'node' && field.root === 'trigger'
  if (isForeign) {
    return problem(at, 'field', 'unknown_field', `${field.root}.* is not known here`)
  }
  const node = field.path[0]?.name ?? ''
  if (field.root !== 'wait_events' || !waitNodes || waitNodes.has(node)) return []
  return problem(at, 'field', 'unknown_node', 'no wait_for_event node of that id')
}

function checkOperator(value: JsonObject, at: Place): Problem[] {
  const problems: Problem[] = []
  const ci = value['ci']
  if (ci !== undefined && typeof ci !== 'boolean') {
    problems.push(...problem(at, 'ci', 'bad_value', 'ci must be true or false'))
  }
  const operator = operators.find((name) => name === value['operator'])
  if (!operator) {
    return [...problems, ...problem(at, 'operator', 'unknown_operator', 'unknown operator')]
  }
  const needs = valueFault(operator, value['value'])
  return needs === null
    ? problems
    : [...problems, ...problem(at, 'value', 'bad_value', `${operator} needs ${needs}`)]
}

function checkEventCount(value: JsonObject, at: Place): Problem[] {
  const problems: Problem[] = []
  if (!isEventName(value['event_name'])) {
    problems.push(...problem(at, 'event_name', 'bad_value', 'an event name is required'))
  }
  if (!countOperators.some((name) => name === value['operator'])) {
    const message = `operator must be one of ${countOperators.join(', ')}`
    problems.push(...problem(at, 'operator', 'unknown_operator', message))
  }
  if (!isCount(value['value'])) {
    problems.push(...problem(at, 'value', 'bad_value', 'value must be a whole number, 0 or more'))
  }
  const within = value['within_ms']
  if (within !== undefined && !(isCount(within) && within > 0)) {
    const message = 'within_ms must be a positive whole number'
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
  if (scope === 'trigger_filter') {
    problems.push(...problem(at, '', 'unknown_field', 'email_activity is not known here'))
  } else if (typeof node !== 'string' || (node !== 'any' && sendNodes?.has(node) === false)) {
    const message = 'node_id must be a send_email node or any'
    problems.push(...problem(at, 'node_id', 'unknown_node', message))
  }
  if (!activityStatuses.some((name) => name === value['status'])) {
    const message = `status must be one of ${activityStatuses.join(', ')}`
    problems.push(...problem(at, 'status', 'bad_value', message))
  }
  return problems
}

function checkAudience(value: JsonObject, at: Place): Problem[] {
  const problems: Problem[] = []
  const id = value['audience_id']
  if (typeof id !== 'string' || id === '') {
    problems.push(...problem(at, 'audience_id', 'bad_value', 'audience_id is required'))
  } else if (at.context.audiences?.has(id) === false) {
    problems.push(...problem(at, 'audience_id', 'unknown_audience', 'no audience of that id'))
  }
  if (typeof value['member'] !== 'boolean') {
    problems.push(...problem(at, 'member', 'bad_value', 'member must be true or false'))
  }
  return problems
}
