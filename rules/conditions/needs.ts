// Which facts a condition reads, so that its caller loads those and no more.
import { parseField } from './fields.ts'
import type { Condition } from './types.ts'

export interface ConditionNeeds {
  /** Names whose `eventTimes` are read. */
  eventNames: string[]
  emailActivity: boolean
  /** Whether answers that nodes have kept are read. */
  steps: boolean
  audienceIds: string[]
}

/** What one condition, or several together, read beyond the contact, the event and the execution. */
export function conditionNeeds(...conditions: Condition[]): ConditionNeeds {
  const leaves = conditions.flatMap(leavesOf)
  return {
    eventNames: unique(
      leaves.map((leaf) => (leaf.type === 'event_count' ? leaf.event_name : null)),
    ),
    emailActivity: leaves.some((leaf) => leaf.type === 'email_activity'),
    steps: leaves.some((leaf) => leaf.type === 'rule' && parseField(leaf.field)?.root === 'steps'),
    audienceIds: unique(leaves.map((leaf) => (leaf.type === 'audience' ? leaf.audience_id : null))),
  }
}

function leavesOf(condition: Condition): Condition[] {
  return 'rules' in condition ? condition.rules.flatMap(leavesOf) : [condition]
}

function unique(values: (string | null)[]): string[] {
  return [...new Set(values.filter((value) => value !== null))]
}
