// A made-up node kind, which shows everything that a new kind needs.
import { z } from 'zod'
import { conditionSchema } from '../../../rules/conditions/schema.ts'
import { problemAt } from '../../../rules/design/context.ts'
import {
  checkConditions,
  checkEventName,
  type HeldCondition,
} from '../../../rules/design/fieldChecks.ts'
import type { JsonObject } from '../../../rules/json.ts'
import { defineNode } from '../../../rules/nodes/define.ts'

const held = ({ until_holds }: JsonObject): HeldCondition[] => [
  { key: 'until_holds', value: until_holds, scope: 'node', isRequired: true },
]

/** Draws a prize. Without a prize the execution waits until a condition is true. */
export const luckyDraw = defineNode({
  type: 'lucky_draw',
  summary: 'Draws a prize for the contact.',
  data: z.object({
    prize: z.string().describe('The template that tells of the prize'),
    event_name: z.string().describe('Counts as a ticket'),
    until_holds: conditionSchema.describe('When the next draw is'),
  }),
  records: 'email_activity',
  leaves: { condition: 'again', timer: 'lost' },
  handleTexts: { won: 'A prize', lost: 'No prize', again: 'Another draw' },
  handles: ({ prize }) =>
    prize === 'none'
      ? { required: ['lost', 'again'], optional: [] }
      : { required: ['won', 'lost', 'again'], optional: [] },
  waits: ({ prize }) => prize === 'none',
  check: (at) => [
    ...(typeof at.data['prize'] === 'string'
      ? []
      : problemAt(at, 'prize', 'missing_value', 'prize is required')),
    ...checkEventName(at, 'event_name'),
    ...checkConditions(at, held(at.data)),
  ],
  conditions: held,
  names: ({ prize }) => ({ templateIds: [prize] }),
  facts: ({ event_name }) => ({ eventNames: [String(event_name)] }),
  enter(data, { facts }) {
    const tickets = facts.eventTimes[data.event_name] ?? []
    if (tickets.length > 0 && data.prize !== 'none')
      return { handle: 'won', why: `${tickets.length} tickets` }
    const until = facts.now + 1000
    return { wait: { for: 'condition', until, condition: data.until_holds }, why: null }
  },
})
