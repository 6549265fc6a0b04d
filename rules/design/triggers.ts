// Which trigger of a workflow an arriving event starts.

import { evaluate } from '../conditions/evaluate.ts'
import type { Condition, ConditionFacts } from '../conditions/types.ts'
import type { Design, ReEntry } from './types.ts'

export interface EventTrigger {
  node_id: string
  event_name: string
  filter: Condition | null
  re_entry: ReEntry | null
}

/** The event triggers of a design, in its order: what is stored when the design becomes active. */
export function eventTriggers(design: Design): EventTrigger[] {
  return design.nodes.flatMap((node) =>
    node.type === 'trigger' && node.data.kind === 'event'
      ? [
          {
            node_id: node.id,
            event_name: node.data.event_name,
            filter: node.data.filter || null,
            re_entry: node.data.re_entry ?? null,
          },
        ]
      : [],
  )
}

/**
 * The first trigger whose filter holds, so that one event starts one execution of a workflow; null when none does.
 * `triggers` are those of one workflow for the event's name, in design order; `facts.event` is the arriving event.
 */
export function matchTrigger<T extends { filter: object | null }>(
  triggers: readonly T[],
  facts: ConditionFacts,
): T | null {
  const found = triggers.find(
    ({ filter }) => filter === null || evaluate(filter as Condition, facts),
  )
  return found ?? null
}

/** Where `POST /v1/workflows/{id}/executions` starts: the first manual trigger, or the first one when none is. */
export function triggerByHand(
  design: Design,
): { node_id: string; re_entry: ReEntry | null } | undefined {
  const triggers = design.nodes.flatMap((node) => (node.type === 'trigger' ? [node] : []))
  const found = triggers.find(({ data }) => data.kind === 'manual') ?? triggers[0]
  return found && { node_id: found.id, re_entry: found.data.re_entry ?? null }
}
