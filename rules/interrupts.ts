// What may end an execution, or move it to a goal, wherever it is: exit conditions, goals, and its longest duration.

import { evaluate } from './conditions/evaluate.ts'
import { nextTurn } from './conditions/turns.ts'
import type { Condition } from './conditions/types.ts'
import { withoutBlanks } from './design/blanks.ts'
import { isGiven } from './design/fieldChecks.ts'
import type { Graph } from './design/types.ts'
import type { Interruption, RunFacts } from './interpreterTypes.ts'

export interface Goal {
  nodeId: string
  /** One of the two. */
  condition?: Condition
  eventName?: string
}

/** As stored with the version of a workflow; null where a design has none of it. */
export interface Interrupts {
  exits: Condition[]
  /** In the order of the nodes. */
  goals: Goal[]
  maxDurationMs: number | null
}

/** What a design says may interrupt its executions. Total: a draft may hold anything there, and never runs. */
export function interruptsOf({
  nodes,
  settings,
}: Pick<Graph, 'nodes' | 'settings'>): Interrupts | null {
  const goals = nodes.flatMap(({ id, type, data }): Goal[] => {
    if (type !== 'goal') return []
    const { condition, event_name } = (data ?? {}) as { condition?: Condition; event_name?: string }
    return condition ? [{ nodeId: id, condition }] : [{ nodeId: id, eventName: event_name ?? '' }]
  })
  const { exit_conditions, max_duration_ms: maxDurationMs = null } = withoutBlanks(settings ?? {})
  const exits = Array.isArray(exit_conditions) ? exit_conditions : []
  if (goals.length === 0 && exits.length === 0 && maxDurationMs === null) return null
  return { exits, goals, maxDurationMs }
}

/** Whether changes of a contact may interrupt executions of a design. */
export function isInterrupted(design: Pick<Graph, 'nodes' | 'settings'>): boolean {
  const found = interruptsOf(design)
  return found !== null && (found.exits.length > 0 || found.goals.length > 0)
}

/** Names of the events by which goals of a design are reached. */
export function goalEventNames(design: Pick<Graph, 'nodes' | 'settings'>): string[] {
  const names = interruptsOf(design)?.goals.flatMap(({ eventName }) => eventName ?? []) ?? []
  return [...new Set(names)]
}

/**
 * What interrupts an execution at this moment; null if nothing does.
 * @param arrivedName the name of an event that has just come for the contact
 */
export function interruption(
  interrupts: Interrupts | null,
  facts: RunFacts,
  arrivedName?: string,
): Interruption | null {
  if (!interrupts) return null
  const ends = endOf(interrupts, facts)
  if (ends !== null && facts.now >= ends) return { kind: 'end', outcome: 'max_duration' }
  if (interrupts.exits.some((condition) => evaluate(condition, facts))) {
    return { kind: 'end', outcome: 'exited' }
  }
  const goal = openGoals(interrupts, facts).find(({ condition, eventName = '' }) =>
    condition ? evaluate(condition, facts) : eventName === arrivedName || hasCome(eventName, facts),
  )
  return goal ? { kind: 'goal', nodeId: goal.nodeId } : null
}

/** When time alone may interrupt it next, in ms; null if it does not. @param before later turns of rules are not looked for */
export function nextInterruption(
  interrupts: Interrupts | null,
  facts: RunFacts,
  before?: number,
): number | null {
  if (!interrupts) return null
  const goals = openGoals(interrupts, facts).flatMap(({ condition }) => condition ?? [])
  const turn = nextTurn([...interrupts.exits, ...goals], facts, before)
  const ends = endOf(interrupts, facts)
  if (turn === null || ends === null) return turn ?? ends
  return Math.min(turn, ends)
}

// Versions that an earlier release wrote may hold '' here, where the setting was left blank.
const endOf = ({ maxDurationMs }: Interrupts, { enteredAt }: RunFacts): number | null =>
  isGiven(maxDurationMs) ? enteredAt + maxDurationMs : null

const openGoals = ({ goals }: Interrupts, { goalsReached }: RunFacts): Goal[] =>
  goals.filter(({ nodeId }) => !goalsReached.includes(nodeId))

/** An event that came since the execution began counts when somebody looks. */
const hasCome = (eventName: string, { arrived = [] }: RunFacts): boolean =>
  arrived.includes(eventName)
