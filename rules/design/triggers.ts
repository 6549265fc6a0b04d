// Where executions of a design begin: which of its triggers an arriving event starts, which a time, and which a call.

import { evaluate } from '../conditions/evaluate.ts'
import type { Condition, ConditionFacts } from '../conditions/types.ts'
import type { Entry } from '../nodes/define.ts'
import { nodeRegistry } from '../nodes/index.ts'
import type { NodeRegistry } from '../nodes/registry.ts'
import type { Schedule } from '../time/schedule.ts'
import { firstZone } from '../time/zones.ts'
import type { Graph, ReEntry } from './types.ts'

export interface EventTrigger {
  node_id: string
  event_name: string
  about: string | null
  filter: Condition | null
  re_entry: ReEntry | null
}

/** The event triggers of a design, in its order: what is stored when the design becomes active. */
export function eventTriggers(
  design: Graph,
  registry: NodeRegistry = nodeRegistry,
): EventTrigger[] {
  return entriesOf(design, registry).flatMap(({ event_name, ...entry }) =>
    event_name === null ? [] : [{ ...entry, event_name }],
  )
}

export interface ScheduleTrigger {
  node_id: string
  /** With the zone whose clocks count. */
  schedule: Schedule
  audience_id: string
  filter: Condition | null
  re_entry: ReEntry | null
}

/** The triggers of a design that start by themselves when their times come, in its order. */
export function scheduleTriggers(
  design: Graph,
  registry: NodeRegistry = nodeRegistry,
): ScheduleTrigger[] {
  return entriesOf(design, registry).flatMap(({ node_id, schedule: given, filter, re_entry }) => {
    if (!given) return []
    const { audience_id, timezone, ...times } = given
    const zone = firstZone(timezone, design.settings?.timezone)
    return [{ node_id, schedule: { ...times, timezone: zone }, audience_id, filter, re_entry }]
  })
}

/** Of each node whose kind is a start, in the design's order. */
function entriesOf({ nodes }: Graph, registry: NodeRegistry): (Entry & { node_id: string })[] {
  return nodes.flatMap(({ id, type, data }) => {
    const entry = registry.find(type)?.entry?.(data)
    return entry ? [{ node_id: id, ...entry }] : []
  })
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
  design: Graph,
  registry: NodeRegistry = nodeRegistry,
): { node_id: string; re_entry: ReEntry | null } | undefined {
  const entries = entriesOf(design, registry)
  const found =
    entries.find(({ event_name, schedule }) => event_name === null && !schedule) ?? entries[0]
  return found && { node_id: found.node_id, re_entry: found.re_entry }
}
