// Where executions begin: at an event, or by a call of the API.
import { z } from 'zod'
import { conditionSchema } from '../conditions/schema.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkConditions, checkEventName, type HeldCondition } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import type { JsonObject } from '../json.ts'
import { mustBeOneOf } from '../shown.ts'
import { always, defineNode, namesNothing, never } from './define.ts'
import { eventName } from './fields.ts'
import { checkReEntry, reEntry } from './reEntry.ts'

const triggerKinds = ['event', 'manual']

const data = z.discriminatedUnion('kind', [
  z
    .object({
      kind: z
        .literal('event')
        .describe('`event`: an event of the contact starts it. `manual`: a call of the API does'),
      event_name: eventName,
      filter: conditionSchema
        .describe('Only events for which it holds; `event.*` is the arriving event')
        .exactOptional(),
      re_entry: reEntry.exactOptional(),
    })
    .describe('Starts at an event'),
  z
    .object({
      kind: z
        .literal('manual')
        .describe('`event`: an event of the contact starts it. `manual`: a call of the API does'),
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
    const message = `kind ${mustBeOneOf(triggerKinds, kind)}`
    return problemAt(at, 'kind', 'unsupported_trigger_kind', message)
  }
  return [
    ...(kind === 'event' ? checkEventName(at, 'event_name') : []),
    ...checkConditions(at, conditions(at.data)),
    ...checkReEntry(at),
  ]
}

export const trigger = defineNode({
  type: 'trigger',
  summary: 'Where executions begin: at an event, or at a call of the API.',
  data,
  role: 'start',
  handles: always('default'),
  handleTexts: { default: 'Always, at once' },
  waits: never,
  check,
  conditions,
  names: namesNothing,
  entry: (data) => ({
    event_name: data.kind === 'event' ? data.event_name : null,
    filter: (data.kind === 'event' && data.filter) || null,
    re_entry: data.re_entry ?? null,
  }),
  enter: (data) => ({
    handle: 'default',
    why: data.kind === 'event' ? data.event_name : 'manual',
  }),
})
