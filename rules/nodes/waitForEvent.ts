// Waits for an event of the contact, or for its time to run out.
import { z } from 'zod'
import { parseField } from '../conditions/fields.ts'
import { conditionSchema } from '../conditions/schema.ts'
import { eventField, resolveMatch } from '../conditions/waitFilter.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import {
  checkConditions,
  checkDuration,
  checkEventName,
  checkFactName,
  checkMs,
  type HeldCondition,
  isGiven,
  isNoTime,
} from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { addDuration, parseDuration } from '../duration.ts'
import { isJsonObject, type JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { defineNode, namesNothing } from './define.ts'
import { duration, eventName, ms } from './fields.ts'
import { failed } from './moves.ts'

const path = z.string().max(limits.pathCharsMax)

const data = z.object({
  event_name: eventName,
  filter: conditionSchema
    .describe(
      'Only events for which this holds; `event.*` is the arriving event, `trigger.*` the triggering one',
    )
    .exactOptional(),
  match: z
    .array(
      z.object({
        event_path: path.describe('A property of the arriving event, such as order_id'),
        equals_path: path.describe('A fact of this execution, such as event.order_id'),
      }),
    )
    .max(limits.matchRowsPerNodeMax)
    .describe('Only events in which each of these properties equals that fact')
    .exactOptional(),
  timeout: duration
    .describe('ISO 8601: then it goes on by `timeout`. Without it, it waits without end')
    .exactOptional(),
  lookback_ms: ms
    .describe('An event of the last so many ms before the wait ends it at once')
    .exactOptional(),
})

const conditions = ({ filter }: JsonObject): HeldCondition[] => [
  { key: 'filter', value: filter, scope: 'wait_filter', isRequired: false },
]

function checkMatch(at: CheckAt): Problem[] {
  const { match } = at.data
  if (!isGiven(match)) return []
  if (!Array.isArray(match) || match.length > limits.matchRowsPerNodeMax) {
    const message = `match must be an array of up to ${limits.matchRowsPerNodeMax} rows`
    return problemAt(at, 'match', 'bad_value', message)
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

export const waitForEvent = defineNode({
  type: 'wait_for_event',
  summary: 'Waits for an event of the contact. Its properties are kept as `wait_events.<node id>`.',
  data,
  records: 'wait_events',
  leaves: { event: 'received', timer: 'timeout' },
  handles: (data) =>
    isGiven(data['timeout'])
      ? { required: ['received', 'timeout'], optional: [] }
      : { required: ['received'], optional: ['timeout'] },
  // Looking back, a wait can find the same event again and again; with no time to wait, it never does wait.
  waits: (data) => !isGiven(data['lookback_ms']) && !isNoTime(data['timeout']),
  check: (at) => [
    ...checkEventName(at, 'event_name'),
    ...checkConditions(at, conditions(at.data)),
    ...checkMatch(at),
    ...checkDuration(at, 'timeout'),
    ...checkMs(at, 'lookback_ms'),
  ],
  conditions,
  names: namesNothing,
  enter(data, { nodeId, facts }) {
    const { event_name, timeout, lookback_ms } = data
    const span = timeout ? parseDuration(timeout) : null
    if (timeout && !span) return { end: failed(`${nodeId}: bad timeout`), why: null }
    return {
      wait: {
        for: 'event',
        until: span ? addDuration(facts.now, span) : null,
        eventName: event_name,
        filter: resolveMatch(data, facts),
        lookbackMs: lookback_ms || 0,
      },
      why: null,
    }
  },
})
