// Where executions begin: at an event, or by a call of the API.
import { z } from 'zod'
import { conditionSchema } from '../conditions/schema.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import {
  checkConditions,
  checkEventName,
  checkMs,
  checkOneOf,
  type HeldCondition,
  isGiven,
  isPropertyPath,
} from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { isJsonObject, type JsonObject } from '../json.ts'
import { limits } from '../limits.ts'
import { always, defineNode, namesNothing, never } from './define.ts'
import { eventName, ms } from './fields.ts'

const triggerKinds = ['event', 'manual']
const reEntryModes = ['every', 'once', 'after_exit', 'interval'] as const

const reEntry = z
  .object({
    mode: z
      .enum(reEntryModes)
      .describe(
        '`every` time; `once` for ever; `after_exit` of the execution before; or once an `interval`',
      ),
    min_interval_ms: ms
      .describe('With mode `interval`: the least time between two entries')
      .exactOptional(),
    key_path: z
      .string()
      .max(limits.pathCharsMax)
      .describe('A property of the event, such as order_id: the rule then holds for each value')
      .exactOptional(),
  })
  .describe('Whether a contact may enter again')
export type ReEntry = z.infer<typeof reEntry>

const data = z.discriminatedUnion('kind', [
  z
    .object({
      kind: z.literal('event').describe('An event of the contact starts it'),
      event_name: eventName,
      filter: conditionSchema
        .describe('Only events for which this holds; `event.*` is the arriving event')
        .exactOptional(),
      re_entry: reEntry.exactOptional(),
    })
    .describe('Starts at an event'),
  z
    .object({
      kind: z.literal('manual').describe('A call of the API starts it'),
      re_entry: reEntry.exactOptional(),
    })
    .describe('Starts by hand'),
])

/** An event's filter is asked when the event arrives, before there is an execution. */
function conditions({ kind, filter }: JsonObject): HeldCondition[] {
  if (kind !== 'event') return []
  return [{ key: 'filter', value: filter, scope: 'trigger_filter', isRequired: false }]
}

function check(at: CheckAt): Problem[] {
  const { kind } = at.data
  if (typeof kind !== 'string' || !triggerKinds.includes(kind)) {
    const message = `kind must be one of ${triggerKinds.join(', ')}`
    return problemAt(at, 'kind', 'unsupported_trigger_kind', message)
  }
  return [
    ...(kind === 'event' ? checkEventName(at, 'event_name') : []),
    ...checkConditions(at, conditions(at.data)),
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
  if (isGiven(key) && !isPropertyPath(key)) {
    const message = 'key_path must be a path of the event, such as order_id'
    problems.push(...problemAt(inner, 'key_path', 'unknown_field', message))
  }
  return problems
}

export const trigger = defineNode({
  type: 'trigger',
  summary: 'Where executions begin. Several triggers may lead to the same node.',
  data,
  role: 'start',
  handles: always('default'),
  waits: never,
  check,
  conditions,
  names: namesNothing,
  enter: (data) => ({
    handle: 'default',
    why: data.kind === 'event' ? data.event_name : 'manual',
  }),
})
