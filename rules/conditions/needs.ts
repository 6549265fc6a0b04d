// Which facts a condition reads, so that its caller loads those and no more.

import type { Design } from '../design/types.ts'
import { parseField } from './fields.ts'
import type { Condition } from './types.ts'

export interface ConditionNeeds {
  /** Names whose `eventTimes` are read. */
  eventNames: string[]
  emailActivity: boolean
  audienceIds: string[]
  /** Reads `trigger.*`. */
  trigger: boolean
  /** Reads `wait_events.*`. */
  waitEvents: boolean
}

/** What one condition, or several together, read beyond the contact, the event and the execution. */
export function conditionNeeds(...conditions: Condition[]): ConditionNeeds {
  const leaves = conditions.flatMap(leavesOf)
  const roots = leaves.map((leaf) => (leaf.type === 'rule' ? parseField(leaf.field)?.root : null))
  return {
    eventNames: unique(
      leaves.map((leaf) => (leaf.type === 'event_count' ? leaf.event_name : null)),
    ),
    emailActivity: leaves.some((leaf) => leaf.type === 'email_activity'),
    audienceIds: unique(leaves.map((leaf) => (leaf.type === 'audience' ? leaf.audience_id : null))),
    trigger: roots.includes('trigger'),
    waitEvents: roots.includes('wait_events'),
  }
}

/** What the conditions of a whole design read while its segments run: conditions, branches, guards, wait filters. */
export function designNeeds(design: Design): ConditionNeeds {
  return conditionNeeds(...design.nodes.flatMap(conditionsOf))
}

function conditionsOf(node: Design['nodes'][number]): Condition[] {
  switch (node.type) {
    case 'condition':
      return [node.data.condition]
    case 'branch':
      return node.data.branches.map((branch) => branch.condition)
    case 'send_email':
      return node.data.guard ? [node.data.guard] : []
    case 'wait_for_event':
      return node.data.filter ? [node.data.filter] : []
    default:
      return []
  }
}

function leavesOf(condition: Condition): Condition[] {
  return 'rules' in condition ? condition.rules.flatMap(leavesOf) : [condition]
}

function unique(values: (string | null)[]): string[] {
  return [...new Set(values.filter((value) => value !== null))]
}
