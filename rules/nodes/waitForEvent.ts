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
import { shown, typeName } from '../shown.ts'
import { defineNode, namesNothing } from './define.ts'
import { eventName, ms } from './fields.ts'
import { failed } from './moves.ts'
import { timeout, timeoutText, waitHandles } from './timeout.ts'

const path = z.string().max(limits.pathCharsMax)

const data = z.object({
  event_name: eventName,
  filter: conditionSchema
    .describe(
      'Only events for which it holds; `event.*` is the arriving event, `trigger.*` the one that started the execution',
    )
    .exactOptional(),
  match: z
    .array(
      z.object({
        event_path: path.describe('A property of the arriving event, such as `order_id`'),
        equals_path: path.describe('A field of this execution, such as `event.order_id`'),
      }),
    )
    .max(limits.matchRowsPerNodeMax)
    .describe('Only events in which each of these properties equals that field')
    .exactOptional(),
  timeout,
  lookback_ms: ms
    .describe('An event that came up to this many ms before the wait began ends it at once')
    .meta({ default: 0 })
    .exactOptional(),
})

const conditions = ({ filter }: JsonObject): HeldCondition[] => [
  { key: 'filter', value: filter, scope: 'wait_filter', isRequired: false },
]

function checkMatch(at: CheckAt): Problem[] {
  const { match } = at.data
  if (!isGiven(match)) return []
  if (!Array.isArray(match) || match.length > limits.matchRowsPerNodeMax) {
    const came = Array.isArray(match) ? `${match.length} rows` : typeName(match)
    const message = `match must be an array of up to ${limits.matchRowsPerNodeMax} rows, not ${came}`
    return problemAt(at, 'match', 'bad_value', message)
  }
  return match.flatMap((row, i) => {
    const key = `match.${i}`
    if (!isJsonObject(row)) {
      const message = `a row must be an object with event_path and equals_path, not ${typeName(row)}`
      return problemAt(at, key, 'bad_value', message)
    }
    const path = row['event_path']
    const isPath = typeof path === 'string' && parseField(eventField(path)) !== null
    const message = `event_path must be a path of the event such as order_id, not ${shown(path)}`
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
  handles: waitHandles('received'),
  handleTexts: {
    received: 'The event came',
    timeout: timeoutText,
  },
  // Looking back, a wait can find the same event again and again; with no time to wait, it never does wait.
  waits: ({ lookback_ms, timeout }) => !lookback_ms && !isNoTime(timeout),
  check: (at) => [
    ...checkEventName(at, 'event_name'),
    ...checkConditions(at, conditions(at.data)),
    ...checkMatch(at),
    ...checkDuration(at, 'timeout'),
    ...checkMs(at, 'lookback_ms'),
  ],
  conditions,
  names: namesNothing,
  enter(data, { nodeId, facts, since }) {
    const { event_name, timeout, lookback_ms } = data
    const span = timeout ? parseDuration(timeout) : null
    if (timeout && !span) return { end: failed(`${nodeId}: bad timeout`), why: null }
    const until = span ? addDuration(since, span) : null
    // Asked again at the end of its time, or later.
    if (until !== null && since < facts.now && until <= facts.now) {
      return { handle: 'timeout', why: null }
    }
    return {
      wait: {
        for: 'event',
        until,
        eventName: event_name,
        filter: resolveMatch(data, facts),
        lookbackMs: lookback_ms || 0,
      },
      why: null,
    }
  },
})
