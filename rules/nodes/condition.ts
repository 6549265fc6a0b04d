// Goes one of two ways, by one condition.
import { z } from 'zod'
import { evaluate, explain } from '../conditions/evaluate.ts'
import { conditionSchema } from '../conditions/schema.ts'
import { checkConditions } from '../design/fieldChecks.ts'
import { always, defineNode, namesNothing, never, oneCondition } from './define.ts'

const conditions = oneCondition(true)

export const condition = defineNode({
  type: 'condition',
  summary: 'Asks one condition and goes on by `true` or by `false`.',
  data: z.object({ condition: conditionSchema.describe('What is asked') }),
  handles: always('true', 'false'),
  handleTexts: { true: 'The condition holds', false: 'The condition does not hold' },
  waits: never,
  check: (at) => checkConditions(at, conditions(at.data)),
  conditions,
  names: namesNothing,
  enter({ condition }, { facts }) {
    const holds = evaluate(condition, facts)
    return { handle: String(holds), why: explain(condition, holds) }
  },
})
