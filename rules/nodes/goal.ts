// A goal: an execution jumps here, out of whatever it waits for, when the condition holds or the event comes.
import { z } from 'zod'
import { conditionSchema } from '../conditions/schema.ts'
import { problemAt } from '../design/context.ts'
import {
  checkConditions,
  checkEventName,
  type HeldCondition,
  isGiven,
} from '../design/fieldChecks.ts'
import type { JsonObject } from '../json.ts'
import { always, defineNode, namesNothing, never } from './define.ts'
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

const conditions = ({ condition }: JsonObject): HeldCondition[] => [
  { key: 'condition', value: condition, scope: 'node', isRequired: false },
]

export const goal = defineNode({
  type: 'goal',
  summary:
    'An execution jumps here, once, when the condition holds or the event comes. One that comes here by an edge goes on.',
  data,
  role: 'goal',
  handles: always('default'),
  handleTexts: { default: 'The goal was reached, or an edge led here' },
  waits: never,
  check(at) {
    const given = [at.data['condition'], at.data['event_name']].filter(isGiven).length
    const message = `exactly one of condition and event_name is required, not ${given === 0 ? 'none' : 'both'}`
    return [
      ...(given === 1 ? [] : problemAt(at, 'condition', 'missing_value', message)),
      ...(isGiven(at.data['event_name']) ? checkEventName(at, 'event_name') : []),
      ...checkConditions(at, conditions(at.data)),
    ]
  },
  conditions,
  names: namesNothing,
  enter: (_, { cameBy }) => ({ handle: 'default', why: cameBy ?? null }),
})
