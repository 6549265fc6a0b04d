// A note in the graph, for its reader only.
import { z } from 'zod'
import { always, defineNode, namesNothing, never, noConditions } from './define.ts'
import { failed } from './moves.ts'

export const note = defineNode({
  type: 'note',
  summary: 'A note for people who read the design. It never runs, and no edge touches it.',
  data: z.object({ text: z.string().describe('Anything').exactOptional() }),
  role: 'note',
  handles: always(),
  handleTexts: {},
  waits: never,
  check: () => [],
  conditions: noConditions,
  names: namesNothing,
  enter: () => ({ end: failed('a note node cannot run'), why: null }),
})
