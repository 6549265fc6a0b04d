// When a condition that does not hold now will hold because of time alone.
import { parseTime } from '../dates.ts'
import { addDuration, type Duration, parseDuration, spanMsMax } from '../duration.ts'
import type { Json } from '../json.ts'
import { evaluate } from './evaluate.ts'
import { parseField, readField } from './fields.ts'
import { operatorRow } from './operators.ts'
import type { Condition, ConditionFacts } from './types.ts'

/**
 * Instants of one search; after the last of them somebody looks again. The more there are, the longer each takes, since they come
 * from lists of dates that are read at each: so the search is of fewer then.
 */
const INSTANTS_MAX = 200
const INSTANTS_MIN = 10
/** Instants of one search, times all that there are. */
const INSTANTS_PRODUCT_MAX = 100_000
/** Months are counted from another day forwards than backwards: a span ends at most so long around its sum. */
const CALENDAR_MS = 5 * 86_400_000
/** No look comes sooner after another. */
const LOOK_MS_MIN = 1_000

/**
 * The next instant, in whole ms, at which one of the conditions holds if nothing but time changes, at least a second from now;
 * null if there is none. One that is further away than the longest wait is that wait: somebody looks again then, since dates
 * of contacts may lie beyond all that a timer or a Date can hold. It asks the evaluator itself, so both always agree.
 * @param before later ones are not looked for, ms
 */
export function nextTurn(
  conditions: readonly Condition[],
  facts: ConditionFacts,
  before: number = Number.POSITIVE_INFINITY,
): number | null {
  const instants = [...new Set(conditions.flatMap((condition) => turnsOf(condition, facts)))]
    .map(Math.ceil)
    .filter((at) => at > facts.now && at < before)
    .sort((one, other) => one - other)
  const look = (at: number): number =>
    Math.min(Math.max(at, facts.now + LOOK_MS_MIN), facts.now + spanMsMax)
  const fitting = Math.floor(INSTANTS_PRODUCT_MAX / Math.max(1, instants.length))
  const tried = Math.max(INSTANTS_MIN, Math.min(INSTANTS_MAX, fitting))
  for (const at of instants.slice(0, tried)) {
    const then = { ...facts, now: at }
    if (conditions.some((condition) => evaluate(condition, then))) return look(at)
  }
  const further = instants[tried]
  return further === undefined ? null : look(further)
}

/** Instants at which a rule of time within the condition may turn. */
function turnsOf(
  condition: Condition,
  facts: ConditionFacts,
  seen: Set<string> = new Set(),
): number[] {
  if ('rules' in condition) return condition.rules.flatMap((rule) => turnsOf(rule, facts, seen))
  if (condition.type === 'segment') {
    const { segment_id: id } = condition
    const { segments = {} } = facts
    const named = Object.hasOwn(segments, id) && !seen.has(id) ? segments[id] : undefined
    seen.add(id)
    return named ? turnsOf(named, facts, seen) : []
  }
  if (condition.type === 'event_count') {
    const { event_name, within_ms } = condition
    if (within_ms === undefined) return []
    const times = Object.hasOwn(facts.eventTimes, event_name) ? facts.eventTimes[event_name] : []
    return (times ?? []).map((at) => at + within_ms + 1)
  }
  if (condition.type !== 'rule') return []
  const { field, operator, value } = condition
  const parsed = parseField(field)
  const span = spanOf(value)
  if ((operator !== 'within_last' && operator !== 'older_than') || !parsed || !span) return []
  return readField(parsed, facts).flatMap((found) => {
    const at = found === undefined ? null : parseTime(found)
    return at === null ? [] : [at, ...endsOf(operator, found ?? null, at, span, value)]
  })
}

function spanOf(value: Json | undefined): Duration | null {
  if (typeof value === 'number') return value >= 0 ? { kind: 'exact', ms: value } : null
  return typeof value === 'string' ? parseDuration(value) : null
}

/** When the span after `at` is over: the sum, and where the operator itself turns. */
function endsOf(
  operator: 'within_last' | 'older_than',
  field: Json,
  at: number,
  span: Duration,
  value: Json | undefined,
): number[] {
  const sum = addDuration(at, span)
  if (span.kind === 'exact') return [sum + 1]
  const isOver = (now: number) =>
    operatorRow(operator)?.test(field, { value, ci: false, now }) === (operator === 'older_than')
  let [before, after] = [sum - CALENDAR_MS, sum + CALENDAR_MS]
  if (isOver(before) || !isOver(after)) return [sum + 1]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (isOver(middle)) after = middle
    else before = middle
  }
  return [after, sum + 1]
}
