// The condition language: what a design may ask of a contact, an event and an execution.
import type { Json, JsonObject } from '../json.ts'

export const operators = [
  'eq',
  'neq',
  'gt',
  'gte',
  'lt',
  'lte',
  'contains',
  'not_contains',
  'starts_with',
  'ends_with',
  'in',
  'not_in',
  'exists',
  'not_exists',
  'is_empty',
  'is_not_empty',
  'is_true',
  'is_false',
  'before',
  'after',
  'within_last',
  'older_than',
] as const

export type Operator = (typeof operators)[number]

export const countOperators = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'] as const
type CountOperator = (typeof countOperators)[number]

/** What a mail may have reached, as `email_activity` asks. */
export const activityStatuses = ['sent', 'delivered', 'opened', 'clicked', 'bounced'] as const

export type Condition =
  | { type: 'and' | 'or'; rules: Condition[] }
  | { type: 'not'; rules: Condition[] }
  | { type: 'rule'; field: string; operator: Operator; value?: Json; ci?: boolean }
  | {
      type: 'event_count'
      event_name: string
      operator: CountOperator
      value: number
      within_ms?: number
    }
  | {
      type: 'email_activity'
      /** A send_email node of this design, or `any`. */
      node_id: string
      status: (typeof activityStatuses)[number]
    }
  | { type: 'audience'; audience_id: string; member: boolean }
  | { type: 'segment'; segment_id: string; member: boolean }

/** What a condition writes as its `type`. */
export const conditionTypes = [
  'and',
  'or',
  'not',
  'rule',
  'event_count',
  'email_activity',
  'audience',
  'segment',
] as const satisfies Condition['type'][]

/** Everything that a condition can look at; loaded before it is evaluated, so that evaluating is pure. */
export interface ConditionFacts {
  /** Time of evaluation, ms. */
  now: number
  contact: { email: string; first_seen: number; properties: Record<string, Json> }
  /** `event.*`: the triggering event's properties, or the arriving event's in the filter of a wait or trigger. */
  event: Record<string, Json>
  /** `trigger.*`: the triggering event's properties, in the filter of a wait. */
  trigger: Record<string, Json>
  waitEvents: Record<string, Record<string, Json>>
  /** `steps.*`: the answers that nodes have kept, by their names. */
  steps: Record<string, JsonObject>
  execution: { step_count: number }
  /** Times (ms) of the contact's events of that name. */
  eventTimes: Record<string, number[]>
  /** send_email node id → statuses that its mail of this execution has reached. */
  emailActivity: Record<string, string[]>
  /** Ids of the audiences that hold the contact. */
  audiences: string[]
  /** Conditions of the segments that conditions name, and of those that these name, by id; absent: none is named. */
  segments?: Readonly<Record<string, Condition>>
}
