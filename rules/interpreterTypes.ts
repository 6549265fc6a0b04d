// Input and output types of the interpreter.
import type { Condition, ConditionFacts } from './conditions/types.ts'
import type { JsonObject } from './json.ts'

/** Where a segment begins: at the trigger, or at a handle of the node where the execution waited. */
export type SegmentStart =
  | { kind: 'trigger'; nodeId: string }
  | { kind: 'resume'; nodeId: string; handle: string }

export interface Step {
  nodeId: string
  type: string
  /** The handle that was taken; null if the node waits or ended the execution. */
  handle: string | null
  /** A short reason for the handle, or for a skipped send; null if there is none. */
  why: string | null
}

/**
 * The result of a send. `suppressed` is separate from `skipped`, because the node's settings decide what follows.
 */
export type SendOutcome =
  | { kind: 'sent' }
  | { kind: 'suppressed' }
  | { kind: 'skipped'; why: string }
  | { kind: 'failed'; why: string }

/** An email as a node describes it. Missing fields come from its template, or from the design's settings. */
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

/** Facts of one segment. `executionId` is the seed of random waits, so that a repeated run waits the same time. */
export interface SegmentFacts extends ConditionFacts {
  executionId: string
}

/** How long a node waits, and for what. `until` is in ms; null: without a deadline. */
export type Wait =
  /** Until a time: `nothing` is a delay, `window` waits for a time window to open. */
  | { for: 'nothing' | 'window'; until: number }
  | {
      for: 'event'
      until: number | null
      eventName: string
      /** Condition on the arriving event: the node's filter and its `match` rows; null: any event. */
      filter: Condition | null
      /** The look-back: an event from this long before the wait ends it at once. */
      lookbackMs: number
    }
  | { for: 'condition'; until: number | null; condition: Condition }

export type EventWait = Extract<Wait, { for: 'event' }>

/** What ended a wait. The kind of the node names a handle for each. */
export type WaitEnd = 'timer' | 'event' | 'condition'

export interface End {
  kind: 'end'
  status: 'COMPLETED' | 'FAILED'
  outcome: string | null
  error: string | null
}

export type Next = ({ kind: 'wait'; nodeId: string } & Wait) | End

export interface SegmentOutcome {
  /** The entered nodes, in order. A node whose wait has ended is not entered again. */
  steps: Step[]
  /** The facts after the last node. The contact's properties are the same object if nothing changed them. */
  facts: SegmentFacts
  next: Next
}

/** Functions that the interpreter calls while it walks. */
export interface SegmentTools {
  /** Called when a node is about to be entered. */
  entering?(nodeId: string): void
  /**
   * Renders an email, which the segment's transaction writes later. Returns failures as data and never throws for
   * a bad template.
   */
  sendEmail(nodeId: string, mail: MailContent, facts: SegmentFacts): SendOutcome
}
