// Waits until a condition holds, or for its time to run out.
import { z } from 'zod'
import { evaluate, explain } from '../conditions/evaluate.ts'
import { conditionSchema } from '../conditions/schema.ts'
import { nextTurn } from '../conditions/turns.ts'
import { checkConditions, checkDuration } from '../design/fieldChecks.ts'
import { addDuration, parseDuration } from '../duration.ts'
import { defineNode, namesNothing, never, oneCondition } from './define.ts'
import { failed } from './moves.ts'
import { timeout, timeoutText, waitHandles } from './timeout.ts'

const data = z.object({
  condition: conditionSchema.describe(
    'Looked at when the node is entered, and at each change of what it reads',
  ),
  timeout,
})

const conditions = oneCondition(true)

export const waitForCondition = defineNode({
  type: 'wait_for_condition',
  summary:
    'Waits until a condition holds. Nothing is polled: it is looked at when what it reads changes.',
  data,
  leaves: { condition: 'met', timer: 'timeout' },
  handles: waitHandles('met'),
  handleTexts: {
    met: 'The condition holds; at once when it did so on entering',
    timeout: timeoutText,
  },
  // What holds on entering passes at once.
  waits: never,
  check: (at) => [...checkConditions(at, conditions(at.data)), ...checkDuration(at, 'timeout')],
  conditions,
  names: namesNothing,
  enter({ condition, timeout }, { nodeId, facts, since }) {
    if (evaluate(condition, facts)) return { handle: 'met', why: explain(condition, true) }
    const span = timeout ? parseDuration(timeout) : null
    if (timeout && !span) return { end: failed(`${nodeId}: bad timeout`), why: null }
    const deadline = span ? addDuration(since, span) : null
    if (deadline !== null && deadline <= facts.now) return { handle: 'timeout', why: null }
    const turn = nextTurn([condition], facts)
    const until = turn === null || deadline === null ? (turn ?? deadline) : Math.min(turn, deadline)
    return { wait: { for: 'condition', until, condition, again: true }, why: null }
  },
})
