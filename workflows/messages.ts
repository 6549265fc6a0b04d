// Payloads that Temporal stores: ids, counts and a digest of the host that a node asks, never an address or a body. It imports no
// SDK, so every process can use it.

import type { WorkspaceId } from '../rules/ids.ts'
import type { CancelCode } from '../rules/wire.ts'

/**
 * The `waitUntil` of a wait without a deadline: only a search attribute that has a value can be found by a query.
 */
export const NO_DEADLINE_MS = Date.UTC(9999, 0, 1)

export interface RunExecutionInput {
  executionId: string
  /**
   * The next segment and the wait before it, passed on by continue-as-new, or as Postgres has them where Temporal has lost the
   * execution; a new execution has none of them.
   */
  segment?: number
  wait?: Wait
  /** Instead of a wait, a call before that segment. */
  call?: Call
  /** Segments whose wait was over before its time, as signals have said; none whose next segment has run. */
  woken?: number[]
  /**
   * That it has completed or failed is not written to the memo, which would be one event more in each history: the row says so.
   * Absent in runs that an earlier release has started, whose histories must replay as they are.
   */
  endsUnshown?: true
}

/** What the API and the Web UI show of a running execution; one memo key, under 2 KB. */
export interface ExecutionMemo {
  step: string
  step_count: number
  /** ms */
  updated_at: number
  /** Name of the durable timer of the current wait; '' if there is no timer. */
  timer: string
  /** Why the execution was cancelled; absent if it was not. */
  cancelled?: CancelCode
}

/** A wait of a segment. Each ends at `until`, or before it by a signal. `sleep` and `wait_event` are older forms, still written. */
type SegmentWait =
  | { kind: 'sleep'; nodeId: string; until: number }
  | { kind: 'wait_event'; nodeId: string; until: number | null }
  /**
   * Its node may be asked again: at `until` if `again`. `since`: when the wait began, ms. `held`: a paused workflow holds the
   * execution before the node.
   */
  | { kind: 'wait'; nodeId: string; until: number | null; since: number; again?: true; held?: true }

export type Wait = SegmentWait & { segment: number }

/** A request that a node makes of another service; what is sent and what came back stand in Postgres. */
export interface Call {
  nodeId: string
  /** The segment that ended in it. */
  segment: number
  /** Whose it is, and the key of the host that it asks (`hostKeyOf`). Both are absent in what an earlier release has written. */
  workspaceId?: WorkspaceId
  hostKey?: string
}

/** The call in which a segment ended. */
export const callOf = (
  { kind: _, ...call }: Extract<SegmentResult['next'], { kind: 'call' }>,
  segment: number,
): Call => ({ ...call, segment })

/** A try of a call. */
export type CallHttpInput = SegmentInput & Pick<Call, 'workspaceId' | 'hostKey'>

/** The name of the timer of a wait, as the Web UI and the API show it. */
export const timerName = (nodeId: string, segment: number) => `${nodeId}/${segment}`

export interface CloseCancelledInput {
  executionId: string
  reason: CancelCode
}

export interface SegmentInput {
  executionId: string
  segment: number
}

/** What the workflow function learns from a segment that ran. */
export interface SegmentResult {
  next:
    | SegmentWait
    | { kind: 'call'; nodeId: string; workspaceId?: WorkspaceId; hostKey?: string }
    | { kind: 'end'; status: 'COMPLETED' | 'FAILED' | 'CANCELLED'; error: string | null }
  step: string
  step_count: number
}

/** The class of what came of a call. */
export interface CallHttpResult {
  outcome: 'success' | 'error'
}

export interface ReleaseHeldInput {
  /** The customer's workflow that has held executions. */
  workflowId: string
  /** Whose it is. Absent in runs that an earlier release has started. */
  workspaceId?: string
  /** Where the page begins, as the one before has said; absent: at the oldest. */
  after?: string
}

export interface ReleaseHeldResult {
  /** Whether more may be held. */
  more: boolean
  /** Where the next page begins; absent: at the oldest. */
  after?: string
}

export interface RunJobInput {
  jobId: string
  /** Whose it is. Absent in runs that an earlier release has started. */
  workspaceId?: string
}

export interface RunJobResult {
  /** Whether there is more to do. */
  more: boolean
  /** The pause before the next page, ms; absent: none. */
  wait_ms?: number
}

export interface DeliveryLaneInput {
  lane: number
  lanes: number
}

export interface VerifyDomainInput {
  domainId: string
  /** Time until the first check, passed on by continue-as-new; absent: the first wait of the schedule. */
  wait_ms?: number
}

export interface CheckDomainInput {
  domainId: string
}

export interface CheckDomainResult {
  /** Time until the next check; null: there is none, because the domain was deleted or has failed. */
  next_ms: number | null
}

/** The node of a workflow that is a schedule. */
export interface RunScheduleInput {
  workflowId: string
  nodeId: string
  /** Whose it is. Absent in runs that an earlier release has started. */
  workspaceId?: string
}

export interface TurnScheduleResult {
  /** Time until something is due, 0: there is more to do now; null: there is none, as when the workflow was paused. */
  next_ms: number | null
}
