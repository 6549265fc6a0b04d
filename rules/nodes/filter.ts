// Goes on while one condition holds, and ends the execution otherwise.
import { z } from 'zod'
import { evaluate, explain } from '../conditions/evaluate.ts'
import { conditionSchema } from '../conditions/schema.ts'
import { checkConditions } from '../design/fieldChecks.ts'
import { always, defineNode, namesNothing, never, oneCondition } from './define.ts'
import { completed } from './moves.ts'

const conditions = oneCondition(true)

export const filter = defineNode({
  type: 'filter',
  summary:
    'Lets those go on for whom a condition holds; of the others the execution ends, COMPLETED with the outcome `filtered`.',
  data: z.object({ condition: conditionSchema.describe('Who goes on') }),
  handles: always('default'),
  handleTexts: { default: 'The condition holds' },
  waits: never,
  check: (at) => checkConditions(at, conditions(at.data)),
  conditions,
  names: namesNothing,
  enter({ condition }, { facts }) {
    const holds = evaluate(condition, facts)
    const why = explain(condition, holds)
    return holds ? { handle: 'default', why } : { end: completed('filtered'), why }
  },
})
