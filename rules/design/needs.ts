// Which facts the segments of a design read, so that those are loaded and no more.
import { type ConditionNeeds, conditionNeeds, joinNeeds } from '../conditions/needs.ts'
import type { Condition } from '../conditions/types.ts'
import type { JsonObject } from '../json.ts'
import { nodeRegistry } from '../nodes/index.ts'
import type { NodeRegistry } from '../nodes/registry.ts'
import { isGiven } from './fieldChecks.ts'
import { exitConditions } from './settings.ts'
import type { Graph } from './types.ts'

/** What a valid design reads while its segments run; the filters of its triggers were asked before. */
export function designNeeds(design: Graph, registry: NodeRegistry = nodeRegistry): ConditionNeeds {
  const conditions: Condition[] = []
  const more: Partial<ConditionNeeds>[] = []
  for (const { type, data } of design.nodes) {
    const kind = registry.find(type)
    if (!kind) continue
    for (const { value, scope } of kind.conditions(data as JsonObject)) {
      if (scope !== 'trigger_filter' && isGiven(value)) conditions.push(value as Condition)
    }
    if (kind.facts) more.push(kind.facts(data as JsonObject))
  }
  const exits = exitConditions((design.settings ?? {}) as JsonObject)
  const asked = conditionNeeds(...conditions, ...exits.map(({ value }) => value as Condition))
  return more.length === 0 ? asked : joinNeeds(asked, ...more)
}
