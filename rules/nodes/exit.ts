// Ends the execution.
import { z } from 'zod'
import { checkText } from '../design/fieldChecks.ts'
import { limits } from '../limits.ts'
import { always, defineNode, namesNothing, never, noConditions } from './define.ts'
import { completed } from './moves.ts'

export const exit = defineNode({
  type: 'exit',
  summary: 'Ends the execution; its status is then COMPLETED.',
  data: z.object({
    outcome: z
      .string()
      .max(limits.nameCharsMax)
      .describe('A word for this end, kept with the execution')
      .meta({ default: 'completed' })
      .exactOptional(),
  }),
  handles: always(),
  handleTexts: {},
  waits: never,
  check: (at) => checkText(at, 'outcome', limits.nameCharsMax),
  conditions: noConditions,
  names: namesNothing,
  enter: ({ outcome }) => ({ end: completed(outcome || undefined), why: null }),
})
