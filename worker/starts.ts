// What a row of the outbox starts an execution with: at its trigger, or where Postgres has it.
import type { TemporalRow } from '../db/outbox.ts'
import {
  callOf,
  type ExecutionMemo,
  NO_DEADLINE_MS,
  type RunExecutionInput,
  type SegmentResult,
  timerName,
} from '../workflows/messages.ts'

/** The payload of a start; a new execution has an empty one. */
interface StartPayload {
  /** Of one that is started again: its last segment, what that gave, when (ms), and whether the wait after it is over. */
  after?: { segment: number; result: SegmentResult; updated_at: number; is_over: boolean }
}

export interface ExecutionStart {
  input: RunExecutionInput
  /** What is shown of it from the start; undefined: nothing. */
  memo?: ExecutionMemo
  /** Of a wait that is left, in ms. */
  waitUntil?: number
}

/** One that is started again shows from the start what it showed. */
export function startOf({ execution_id, payload }: TemporalRow): ExecutionStart {
  const { after } = payload as StartPayload
  const ids = { executionId: execution_id, endsUnshown: true } as const
  if (!after) return { input: ids }
  const { segment, result, updated_at, is_over } = after
  const { next, step, step_count } = result
  const memo = { step, step_count, updated_at, timer: '' }
  // A segment that ended the execution is asked again, and gives its stored result.
  if (next.kind === 'end') return { input: { ...ids, segment }, memo }
  const input = { ...ids, segment: segment + 1 }
  if (next.kind === 'call') {
    return { input: { ...input, call: callOf(next, segment) }, memo }
  }
  if (is_over) return { input, memo }
  const timer = next.until === null ? '' : timerName(next.nodeId, segment)
  return {
    input: { ...input, wait: { ...next, segment } },
    memo: { ...memo, timer },
    waitUntil: next.until ?? NO_DEADLINE_MS,
  }
}
