// Input and output types of the interpreter.
import type { Condition, ConditionFacts } from './conditions/types.ts'
import type { JsonObject } from './json.ts'
import type { TeamAddresses } from './nodes/teamAddresses.ts'
import type { Utm } from './nodes/utm.ts'

/** What interrupts an execution: exits come before goals, and goals in the order of the nodes. */
export type Interruption =
  | { kind: 'end'; outcome: 'exited' | 'max_duration' }
  | { kind: 'goal'; nodeId: string }

/** Where a walk begins. All but the first and the last two come after a wait at a node. */
export type SegmentStart =
  | { kind: 'trigger'; nodeId: string }
  /** The wait is over: by this handle of its node. */
  | { kind: 'resume'; nodeId: string; handle: string }
  /** The wait may be over: its node is asked again. `since`: when the wait began, ms. */
  | { kind: 'again'; nodeId: string; since: number }
  /** The execution leaves the wait and jumps to a goal, or ends. */
  | { kind: 'interrupted'; nodeId: string; by: Interruption }
  /** A paused workflow holds the execution before this node, since `since`, ms: it is looked at again what may interrupt it. */
  | { kind: 'held'; nodeId: string; since: number }
  /** It is held no more, and enters the node, whose step counts already. */
  | { kind: 'released'; nodeId: string }
  /** The effect of a node was carried out, or refused. */
  | { kind: 'effect'; nodeId: string; result: EffectResult }
  /** The call of a node is over. What it gave is among the facts. */
  | { kind: 'called'; nodeId: string; result: CallResult }

/** How a call ended; `why` is its status, or a word for what was amiss. */
export interface CallResult {
  handle: 'success' | 'error'
  why: string
}

/** A request that a node wants made, with the secrets that its texts name. */
export interface HttpCall {
  method: string
  url: string
  headers: Record<string, string>
  /** null: none. */
  body: string | null
  timeout_ms: number
  /** The name by which the answer is kept; null: it is not. */
  storeAs: string | null
}

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
  /** Who gets it instead of the contact. */
  to?: TeamAddresses
  /** Who gets a copy. */
  cc?: TeamAddresses
  preview_text?: string
  /** By their names without `utm_`. */
  utm?: Utm
  variables?: JsonObject
  category?: 'marketing' | 'transactional'
}

/** What is known of an execution beside the facts of its conditions. */
export interface RunFacts extends ConditionFacts {
  /** When it was started, ms. */
  enteredAt: number
  /** Ids of the goals that it has reached; they are reached once. */
  goalsReached: readonly string[]
  /** Names of events that have come since the start, of those that goals look at; absent: none. */
  arrived?: readonly string[]
}

/** Facts of one segment. `executionId` is the seed of random waits, so that a repeated run waits the same time. */
export interface SegmentFacts extends RunFacts {
  executionId: string
  workflowId: string
  /** Whether the workflow is not active, so that `on_pause: hold` holds its executions; absent: it is active. */
  isPaused?: boolean
  /** How many effects of executions led to this one; what it causes carries one more. */
  depth: number
  /** Times of the contact's latest marketing mail, ms, as far as a cap asks; absent: none asks. */
  marketingSent?: readonly number[]
}

/** What a node does beyond the contact's properties and mail. The segment's transaction carries it out. */
export type Effect =
  | { kind: 'join_audience' | 'leave_audience'; audienceId: string }
  | { kind: 'unsubscribe'; scope: 'workflow' | 'workspace' }
  | { kind: 'send_event'; eventName: string; properties: JsonObject }
  | { kind: 'start_workflow'; workflowId: string; properties: JsonObject }
  | { kind: 'cancel_workflow'; workflowId: string; reason: string | null }

/** `facts`: those after it, when it changed any. `end`: it ended this execution too. */
export type EffectResult =
  | { ok: true; why: string | null; facts?: SegmentFacts; end?: End }
  | { ok: false; why: string }

/**
 * How long a node waits, and for what. `until` is in ms; null: without a deadline. `again`: at `until` the node is asked
 * again, since the wait may not be over then.
 */
export type Wait = { again?: true } & WaitFor

type WaitFor =
  /** Until a time: `nothing` is a delay, `window` waits for a time window to open. */
  | {
      for: 'nothing' | 'window'
      until: number
      /** The property that `until` was computed from: when it changes, the node is asked again. */
      path?: string
    }
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
  /** Until the workflow is active again: the node is not entered. */
  | { for: 'hold'; until: number | null }

export type EventWait = Extract<Wait, { for: 'event' }>

/** What ended a wait. The kind of the node names a handle for each. */
export type WaitEnd = 'timer' | 'event' | 'condition'

export interface End {
  kind: 'end'
  /** CANCELLED: by a node of its own, because the contact unsubscribed. */
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED'
  /** Of CANCELLED. */
  reason?: { code: 'cancelled' | 'unsubscribed'; text: string }
  outcome: string | null
  error: string | null
}

export type Next =
  /** `since`: when the wait began, ms. */
  | ({ kind: 'wait'; nodeId: string; since: number } & Wait)
  | { kind: 'effect'; nodeId: string; effect: Effect }
  | { kind: 'call'; nodeId: string; call: HttpCall }
  | End

export interface SegmentOutcome {
  /** The entered nodes, in order. A node whose wait has ended is not entered again. */
  steps: Step[]
  /** How the node was left at which the execution waited; null if it did not wait, or still does. */
  left: Pick<Step, 'handle' | 'why'> | null
  /** The facts after the last node. The contact's properties are the same object if nothing changed them. */
  facts: SegmentFacts
  next: Next
}

/** Functions that the interpreter calls while it walks. */
export interface SegmentTools {
  /** The nodes that this segment has entered: the walks of a segment share it. */
  visited?: Set<string>
  /** Called when a node is about to be entered. */
  entering?(nodeId: string): void
  /** What keeps a mail from the contact whatever it says, since they left or are suppressed; null or absent: nothing. */
  refusesMail?(mail: MailContent): Extract<SendOutcome, { kind: 'suppressed' | 'skipped' }> | null
  /**
   * Renders an email, which the segment's transaction writes later. Returns failures as data and never throws for
   * a bad template.
   */
  sendEmail(nodeId: string, mail: MailContent, facts: SegmentFacts): SendOutcome
  /** Renders a Liquid text of a node, on one line unless it says otherwise. */
  renderText?(
    nodeId: string,
    source: string,
    facts: SegmentFacts,
    form?: TextForm,
  ): { ok: true; text: string } | { ok: false; why: string }
}

/**
 * What a text is for. Those of a request may read `secrets.*`; in `request_url` each value is percent-encoded, and
 * `request_body` keeps its lines.
 */
export type TextForm = 'line' | 'request_line' | 'request_url' | 'request_body'
