// What the interpreter takes and gives: one segment of an execution, as data.
import type { Condition, ConditionFacts } from './conditions/types.ts'
import type { JsonObject } from './json.ts'

/** Where a segment begins: at the trigger, or on a handle of the node it waited at. */
export type SegmentStart =
  | { kind: 'trigger'; nodeId: string }
  | { kind: 'resume'; nodeId: string; handle: string }

export interface Step {
  nodeId: string
  type: string
  /** The handle that was taken; null on a node that now waits or ended. */
  handle: string | null
  /** One short reason: why this handle, why skipped; null where there is nothing to say. */
  why: string | null
}

/** What became of a send. `suppressed` is apart from `skipped`, since the node says what follows it. */
export type SendOutcome =
  | { kind: 'sent' }
  | { kind: 'suppressed' }
  | { kind: 'skipped'; why: string }
  | { kind: 'failed'; why: string }

/** One mail as a node writes it; what it leaves out comes from its template, or from the design's settings. */
export interface MailContent {
  /** Id or alias. */
  template_id?: string
  subject?: string
  html?: string
  text?: string
  from?: string
  reply_to?: string
  variables?: JsonObject
  category?: 'marketing' | 'transactional'
}

/** Facts of one segment. `executionId` seeds jitter, so that a replay waits the same time. */
export interface SegmentFacts extends ConditionFacts {
  executionId: string
}

/** How long a node waits, and for what. `until` is in ms; null when it waits without end. */
export type Wait =
  /** For a time of the calendar: `window` opens then, `nothing` is a plain delay. */
  | { for: 'nothing' | 'window'; until: number }
  | {
      for: 'event'
      until: number | null
      eventName: string
      /** Over the arriving event: the node's filter and its `match` rows as one condition; null for any event. */
      filter: Condition | null
      /** Events of this long before the wait end it at once. */
      lookbackMs: number
    }
  | { for: 'condition'; until: number | null; condition: Condition }

export type EventWait = Extract<Wait, { for: 'event' }>

/** What ends a wait: each has its handle, which the node's kind names. */
export type WaitEnd = 'timer' | 'event' | 'condition'

export interface End {
  kind: 'end'
  status: 'COMPLETED' | 'FAILED'
  outcome: string | null
  error: string | null
}

export type Next = ({ kind: 'wait'; nodeId: string } & Wait) | End

export interface SegmentOutcome {
  /** Nodes entered, in order. A resumed wait is not entered again. */
  steps: Step[]
  /** Those after the last node; the contact's properties are the same object when nothing changed them. */
  facts: SegmentFacts
  next: Next
}

/** What the interpreter may ask of the outside while it walks: writes a mail into the segment's transaction's plan. */
export interface SegmentTools {
  /** Composes and plans one mail; reports skipped or failed as data, never throws for a bad template. */
  sendEmail(nodeId: string, mail: MailContent, facts: SegmentFacts): SendOutcome
}
