// Ends the execution.
import { z } from 'zod'
import { checkText } from '../design/fieldChecks.ts'
import { limits } from '../limits.ts'
import { always, defineNode, namesNothing, never, noConditions } from './define.ts'
import { completed } from './moves.ts'

export const exit = defineNode({
  type: 'exit',
  summary: 'Ends the execution, COMPLETED.',
  data: z.object({
    outcome: z
      .string()
      .max(limits.nameCharsMax)
      .describe('What is kept as the outcome; `completed` unless said')
      .exactOptional(),
  }),
  handles: always(),
  waits: never,
  check: (at) => checkText(at, 'outcome', limits.nameCharsMax),
  conditions: noConditions,
  names: namesNothing,
  enter: ({ outcome }) => ({ end: completed(outcome || undefined), why: null }),
})
