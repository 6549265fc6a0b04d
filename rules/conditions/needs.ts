// Which facts a condition reads, so that its caller loads those and no more.
import { parseField } from './fields.ts'
import type { Condition } from './types.ts'

export interface ConditionNeeds {
  /** Whether a field of the contact, or of anything else, is read. */
  fields: boolean
  /** Names whose `eventTimes` are read. */
  eventNames: string[]
  emailActivity: boolean
  /** Whether answers that nodes have kept are read. */
  steps: boolean
  audienceIds: string[]
  /** Segments that are named; what their conditions read comes beside it (`withSegments`). */
  segmentIds: string[]
}

/** Of each condition: an event may meet the filters of a thousand workflows, which stay the same from event to event. */
const known = new WeakMap<Condition, ConditionNeeds>()

/** What one condition, or several together, read beyond the contact, the event and the execution. */
export function conditionNeeds(...conditions: Condition[]): ConditionNeeds {
  return joinNeeds(...conditions.map(needsOf))
}

function needsOf(condition: Condition): ConditionNeeds {
  const before = known.get(condition)
  if (before) return before
  const needs = readNeeds(leavesOf(condition))
  known.set(condition, needs)
  return needs
}

function readNeeds(leaves: readonly Condition[]): ConditionNeeds {
  return {
    fields: leaves.some((leaf) => leaf.type === 'rule'),
    eventNames: unique(
      leaves.map((leaf) => (leaf.type === 'event_count' ? leaf.event_name : null)),
    ),
    emailActivity: leaves.some((leaf) => leaf.type === 'email_activity'),
    steps: leaves.some((leaf) => leaf.type === 'rule' && parseField(leaf.field)?.root === 'steps'),
    audienceIds: unique(leaves.map((leaf) => (leaf.type === 'audience' ? leaf.audience_id : null))),
    segmentIds: unique(leaves.map((leaf) => (leaf.type === 'segment' ? leaf.segment_id : null))),
  }
}

/** The needs, with what segments read that are named and were loaded. */
export function withSegments(
  needs: ConditionNeeds,
  segments: Readonly<Record<string, Condition>>,
): ConditionNeeds {
  return joinNeeds(needs, conditionNeeds(...Object.values(segments)))
}

/** What all of them read together. */
export function joinNeeds(...all: Partial<ConditionNeeds>[]): ConditionNeeds {
  const names = (key: 'eventNames' | 'audienceIds' | 'segmentIds') =>
    unique(all.flatMap((one) => one[key] ?? []))
  return {
    eventNames: names('eventNames'),
    audienceIds: names('audienceIds'),
    segmentIds: names('segmentIds'),
    fields: all.some((one) => one.fields),
    emailActivity: all.some((one) => one.emailActivity),
    steps: all.some((one) => one.steps),
  }
}

function leavesOf(condition: Condition): Condition[] {
  return 'rules' in condition ? condition.rules.flatMap(leavesOf) : [condition]
}

function unique(values: (string | null)[]): string[] {
  return [...new Set(values.filter((value) => value !== null))]
}
