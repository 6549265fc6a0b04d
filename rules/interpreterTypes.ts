// What the interpreter takes and gives: one segment of an execution, as data.
import type { ConditionFacts } from './conditions/types.ts'
import type { SendEmailData } from './design/types.ts'
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

/** What became of a send: its handle and reason, with nothing written yet. */
export type SendOutcome =
  | { kind: 'sent' }
  | { kind: 'skipped'; why: string }
  | { kind: 'failed'; why: string }

/** Facts of one segment. `executionId` seeds jitter, so that a replay waits the same time. */
export interface SegmentFacts extends ConditionFacts {
  executionId: string
}

export type Next =
  | { kind: 'sleep'; nodeId: string; until: number }
  | {
      kind: 'wait_event'
      nodeId: string
      eventName: string
      /** The node's filter and its `match` rows, turned into one condition; null for any event. */
      filter: object | null
      /** ms; null when it waits without end. */
      deadline: number | null
      lookbackMs: number
    }
  | { kind: 'end'; status: 'COMPLETED' | 'FAILED'; outcome: string | null; error: string | null }

export interface SegmentOutcome {
  /** Nodes entered, in order. A resumed wait is not entered again. */
  steps: Step[]
  /** The contact's properties after the segment; the same object when nothing changed. */
  properties: JsonObject
  next: Next
}

/** What the interpreter may ask of the outside while it walks: writes a mail into the segment's transaction's plan. */
export interface SegmentTools {
  /** Composes and plans one mail; reports skipped or failed as data, never throws for a bad template. */
  sendEmail(nodeId: string, data: SendEmailData, facts: SegmentFacts): SendOutcome
}
