// A goal: an execution jumps here, out of whatever it waits for, when the condition holds or the event comes.
import { z } from 'zod'
import { conditionSchema } from '../conditions/schema.ts'
import { checkConditions, checkEventName, checkOnlyOne, isGiven } from '../design/fieldChecks.ts'
import { always, defineNode, namesNothing, never, oneCondition } from './define.ts'
import { eventName } from './fields.ts'

const data = z
  .object({
    condition: conditionSchema
      .describe(
        'Reached when it holds. Looked at when the execution enters, before each send, when a wait begins, and at ' +
          'each change of the contact during a wait',
      )
      .exactOptional(),
    event_name: eventName.exactOptional(),
  })
  .describe('Either a condition or the name of an event')

const conditions = oneCondition(false)

export const goal = defineNode({
  type: 'goal',
  summary:
    'An execution jumps here, once, when the condition holds or the event comes. One that comes here by an edge goes on.',
  data,
  role: 'goal',
  handles: always('default'),
  handleTexts: { default: 'The goal was reached, or an edge led here' },
  waits: never,
  check: (at) => [
    ...checkOnlyOne(at, ['condition', 'event_name'], {
      none: 'missing_value',
      both: 'missing_value',
    }),
    ...(isGiven(at.data['event_name']) ? checkEventName(at, 'event_name') : []),
    ...checkConditions(at, conditions(at.data)),
  ],
  conditions,
  names: namesNothing,
  enter: (_, { cameBy }) => ({ handle: 'default', why: cameBy ?? null }),
})
