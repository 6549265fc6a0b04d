// Turns a wait's filter and match rows into the one condition that is stored and asked of each arriving event.

import { evaluate } from './evaluate.ts'
import { parseField, readOne } from './fields.ts'
import type { Condition, ConditionFacts } from './types.ts'

const always: Condition = { type: 'and', rules: [] }
/** No event matches: only the timeout ends such a wait. */
const never: Condition = { type: 'or', rules: [] }

/** A property of the arriving event, and the fact of the execution that it must equal. */
interface MatchRow {
  event_path: string
  equals_path: string
}

/**
 * The condition over the arriving event that ends a wait; null when any event of its name does.
 * `facts` are those of the waiting execution: its triggering event is `facts.event`. Each match row becomes
 * `event.<event_path> eq <the value at equals_path now>`; a missing or null value there equals nothing, so the wait
 * can then only time out. Rules over what stays as it is while it waits (`trigger.*`, `wait_events.*`, `steps.*`, `execution.*`)
 * are decided here, so that whoever records an event needs no facts of the execution, `within_last` and
 * `older_than` excepted: their answer depends on when the event comes.
 */
export function resolveMatch(
  data: { filter?: Condition; match?: MatchRow[] },
  facts: ConditionFacts,
): Condition | null {
  const waiting = { ...facts, trigger: facts.event }
  const rules = (data.match || []).map((row) => matchRule(row, waiting))
  if (data.filter) rules.unshift(settle(data.filter, waiting))
  const condition = join('and', rules)
  return isEmpty(condition, 'and') ? null : condition
}

function matchRule(row: MatchRow, facts: ConditionFacts): Condition {
  const value = readOne(row.equals_path, facts)
  if (value === undefined || value === null) return never
  return { type: 'rule', field: eventField(row.event_path), operator: 'eq', value }
}

/** `order.id` and `event.order.id` name the same property of the arriving event. */
export function eventField(event_path: string): string {
  return event_path.startsWith('event.') ? event_path : `event.${event_path}`
}

function settle(condition: Condition, facts: ConditionFacts): Condition {
  switch (condition.type) {
    case 'and':
    case 'or':
      return join(
        condition.type,
        condition.rules.map((rule) => settle(rule, facts)),
      )
    case 'not': {
      const inner = join(
        'or',
        condition.rules.map((rule) => settle(rule, facts)),
      )
      if (isEmpty(inner, 'and')) return never
      if (isEmpty(inner, 'or')) return always
      return { type: 'not', rules: [inner] }
    }
    case 'rule':
      if (!isSettled(condition)) return condition
      return evaluate(condition, facts) ? always : never
    default:
      return condition
  }
}

const settledRoots: readonly (string | undefined)[] = [
  'trigger',
  'wait_events',
  'steps',
  'execution',
]

function isSettled(rule: Extract<Condition, { type: 'rule' }>): boolean {
  if (rule.operator === 'within_last' || rule.operator === 'older_than') return false
  return settledRoots.includes(parseField(rule.field)?.root)
}

/** Joins rules, dropping those that say nothing and stopping at one that decides. */
function join(type: 'and' | 'or', rules: Condition[]): Condition {
  const [neutral, deciding] = type === 'and' ? (['and', 'or'] as const) : (['or', 'and'] as const)
  const decided = rules.find((rule) => isEmpty(rule, deciding))
  if (decided) return decided
  const open = rules.filter((rule) => !isEmpty(rule, neutral))
  return open.length === 1 && open[0] ? open[0] : { type, rules: open }
}

function isEmpty(condition: Condition, type: 'and' | 'or'): boolean {
  return condition.type === type && condition.rules.length === 0
}
