// Records an event for the contact, as if it had been posted.
import { z } from 'zod'
import { anyObject } from '../conditions/schema.ts'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkEventName } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { isReservedEventName } from '../eventNames.ts'
import { shown } from '../shown.ts'
import { defineNode, mayFail, namesNothing, never, noConditions } from './define.ts'
import { eventName } from './fields.ts'
import { checkMadeProperties, makeProperties } from './madeProperties.ts'
import { CHAIN_TOO_LONG, failedText, failStep } from './moves.ts'

const data = z.object({
  event_name: eventName.describe(
    'Name of the event; none of those that the service records itself',
  ),
  properties: anyObject
    .describe(
      'Its properties. Texts are Liquid; `{"var": "event.plan"}` stands for the value of that field',
    )
    .exactOptional(),
})

function checkName(at: CheckAt): Problem[] {
  const name = at.data['event_name']
  if (typeof name !== 'string' || !isReservedEventName(name))
    return checkEventName(at, 'event_name')
  const message = `event_name: only the service itself records ${shown(name)}`
  return problemAt(at, 'event_name', 'bad_event_name', message)
}

export const sendEvent = defineNode({
  type: 'send_event',
  summary: 'Records an event for the contact, as if it had been posted.',
  data,
  handles: mayFail,
  handleTexts: {
    default: 'The event was recorded',
    failed: failedText(
      `it could not be: a text of its properties does not render, or ${CHAIN_TOO_LONG}`,
    ),
  },
  waits: never,
  check: (at) => [...checkName(at), ...checkMadeProperties(at)],
  conditions: noConditions,
  names: namesNothing,
  enter({ event_name, properties = {} }, place) {
    const made = makeProperties(properties, place)
    if (!made.ok) return failStep(made.why, place)
    const effect = {
      kind: 'send_event',
      eventName: event_name,
      properties: made.properties,
    } as const
    return { effect, why: null }
  },
})
