// Payloads that cross Temporal: ids and counts, never an address or a body. No SDK import, so that every process may
// read it.

import type { CancelCode } from '../rules/wire.ts'

/** Stands for a wait without a deadline, since a search attribute must have a value to be found. */
export const NO_DEADLINE_MS = Date.UTC(9999, 0, 1)

export interface RunExecutionInput {
  executionId: string
  /** Carried over by continue-as-new; 0 and nothing at first. */
  segment?: number
  wait?: Wait
  /** Segments whose event had come already. */
  woken?: number[]
}

/** What is shown of an execution; one memo key, under 2 KB. */
export interface ExecutionMemo {
  step: string
  step_count: number
  /** ms */
  updated_at: number
  /** Name of the durable timer of the wait; '' when there is none. */
  timer: string
  /** Why it was cancelled; absent while it was not. */
  cancelled?: CancelCode
}

export type Wait =
  | { kind: 'sleep'; segment: number; nodeId: string; until: number }
  | { kind: 'wait_event'; segment: number; nodeId: string; until: number | null }

export interface CloseCancelledInput {
  executionId: string
  reason: CancelCode
}

export interface SegmentInput {
  executionId: string
  segment: number
}

/** All that the workflow function needs to know of a segment that ran. */
export interface SegmentResult {
  next:
    | { kind: 'sleep'; nodeId: string; until: number }
    | { kind: 'wait_event'; nodeId: string; until: number | null }
    | { kind: 'end'; status: 'COMPLETED' | 'FAILED' | 'CANCELLED'; error: string | null }
  step: string
  step_count: number
}

export interface DeliveryLaneInput {
  lane: number
  lanes: number
}

export interface VerifyDomainInput {
  domainId: string
  /** Until the first check; the schedule's when absent, carried over by continue-as-new. */
  wait_ms?: number
}

export interface CheckDomainInput {
  domainId: string
}

export interface CheckDomainResult {
  /** Until the next check; null: none, the domain is gone or was given up. */
  next_ms: number | null
}
