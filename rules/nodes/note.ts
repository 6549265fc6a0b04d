// A note in the graph, for its reader only.
import { z } from 'zod'
import { always, defineNode, namesNothing, never, noConditions } from './define.ts'
import { failed } from './moves.ts'

export const note = defineNode({
  type: 'note',
  summary: 'A note for the reader of the graph. It never runs, and no edge touches it.',
  data: z.object({ text: z.string().describe('The note; not looked at').exactOptional() }),
  role: 'drawn',
  handles: always(),
  waits: never,
  check: () => [],
  conditions: noConditions,
  names: namesNothing,
  enter: () => ({ end: failed('a note node cannot run'), why: null }),
})
