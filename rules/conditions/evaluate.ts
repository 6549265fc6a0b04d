// Evaluates conditions: pure, total, over facts that were loaded before.

import { limits } from '../limits.ts'
import { parseField, readField } from './fields.ts'
import { operatorRow } from './operators.ts'
import type { Condition, ConditionFacts } from './types.ts'

/**
 * Whether a condition holds. `and` of no rules holds and `or` of none does not; `not` holds when none of its rules
 * does. A field with `[]` holds when any element makes the operator true, for `neq` and its like too: to say "no
 * element", wrap the positive rule in `not`. An unknown type, operator or field is false; it never throws.
 */
export function evaluate(condition: Condition, facts: ConditionFacts): boolean {
  switch (condition.type) {
    case 'and':
      return condition.rules.every((rule) => evaluate(rule, facts))
    case 'or':
      return condition.rules.some((rule) => evaluate(rule, facts))
    case 'not':
      return !condition.rules.some((rule) => evaluate(rule, facts))
    case 'rule':
      return evaluateRule(condition, facts)
    case 'event_count':
      return compareCount(countEvents(condition, facts), condition)
    case 'email_activity':
      return hasActivity(condition, facts)
    case 'audience':
      return facts.audiences.includes(condition.audience_id) === condition.member
    case 'segment':
      return isInSegment(condition.segment_id, facts) === condition.member
    default:
      condition satisfies never
      return false
  }
}

/** What was found of segments by the facts that it was found by: several conditions, and each other, may name them. */
const found = new WeakMap<ConditionFacts, Map<string, boolean>>()

/** Whether the condition of a segment holds. Nobody is in a segment that there is not (any more). */
function isInSegment(id: string, facts: ConditionFacts): boolean {
  const known = found.get(facts) ?? new Map<string, boolean>()
  found.set(facts, known)
  const before = known.get(id)
  if (before !== undefined) return before
  // Ends what cannot be stored: a segment that names itself.
  known.set(id, false)
  const condition = Object.hasOwn(facts.segments ?? {}, id) ? facts.segments?.[id] : undefined
  const holds = condition !== undefined && evaluate(condition, facts)
  known.set(id, holds)
  return holds
}

type Rule = Extract<Condition, { type: 'rule' }>

function evaluateRule(rule: Rule, facts: ConditionFacts): boolean {
  const field = parseField(rule.field)
  const row = operatorRow(rule.operator)
  if (!field || !row) return false
  const given = { value: rule.value, ci: rule.ci === true, now: facts.now }
  return readField(field, facts).some((value) =>
    value === undefined ? row.missing : row.test(value, given),
  )
}

type EventCount = Extract<Condition, { type: 'event_count' }>

function compareCount(count: number, { operator, value }: EventCount): boolean {
  switch (operator) {
    case 'eq':
      return count === value
    case 'neq':
      return count !== value
    case 'gt':
      return count > value
    case 'gte':
      return count >= value
    case 'lt':
      return count < value
    case 'lte':
      return count <= value
    default:
      operator satisfies never
      return false
  }
}

/** Events of a name; of the last `within_ms` when given. One dated slightly ahead has happened, so it counts. */
function countEvents(leaf: EventCount, facts: ConditionFacts): number {
  const times = Object.hasOwn(facts.eventTimes, leaf.event_name)
    ? (facts.eventTimes[leaf.event_name] ?? [])
    : []
  if (leaf.within_ms === undefined) return times.length
  const since = facts.now - leaf.within_ms
  return times.filter((at) => at >= since).length
}

function hasActivity(
  leaf: Extract<Condition, { type: 'email_activity' }>,
  facts: ConditionFacts,
): boolean {
  if (leaf.node_id === 'any') {
    return Object.values(facts.emailActivity).some((statuses) => statuses.includes(leaf.status))
  }
  return (
    Object.hasOwn(facts.emailActivity, leaf.node_id) &&
    facts.emailActivity[leaf.node_id]?.includes(leaf.status) === true
  )
}

/**
 * One short line for a step's `why`: `properties.plan eq "pro" is true`. Quotes the design only, never the
 * contact's data.
 */
export function explain(condition: Condition, result: boolean): string {
  const text = `${described(condition)} is ${result}`
  return text.length <= limits.stepWhyCharsMax ? text : `${condition.type} is ${result}`
}

/** Texts of conditions, since a design is walked for many contacts. */
const texts = new WeakMap<Condition, string>()

function described(condition: Condition): string {
  const known = texts.get(condition)
  if (known !== undefined) return known
  const text = describe(condition)
  texts.set(condition, text)
  return text
}

function describe(condition: Condition): string {
  switch (condition.type) {
    case 'and':
    case 'or':
      return condition.rules.length === 1 && condition.rules[0]
        ? describe(condition.rules[0])
        : `(${condition.rules.map(describe).join(` ${condition.type} `)})`
    case 'not':
      return `not (${condition.rules.map(describe).join(' or ')})`
    case 'rule': {
      const takesValue = operatorRow(condition.operator)?.value !== 'none'
      const value = takesValue ? condition.value : undefined
      const shown = value === undefined ? '' : ` ${JSON.stringify(value)}`
      return `${condition.field} ${condition.operator}${shown}`
    }
    case 'event_count':
      return `count of ${condition.event_name} ${condition.operator} ${condition.value}`
    case 'email_activity':
      return `mail of ${condition.node_id} ${condition.status}`
    case 'audience':
      return `${condition.member ? 'member' : 'no member'} of ${condition.audience_id}`
    case 'segment':
      return `${condition.member ? 'in' : 'not in'} ${condition.segment_id}`
  }
}
