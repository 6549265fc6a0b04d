// One execution of a customer's workflow: run a segment, wait or make a call, run the next, until the end or a cancellation.

import { defineSearchAttributeKey } from '@temporalio/common'
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  defineSignal,
  isCancellation,
  makeContinueAsNewFunc,
  patched,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import type { Activities } from '../activities/index.ts'
import {
  type CancelCode,
  failureTypes,
  memoKey,
  searchAttributes,
  signals,
  toCancelCode,
} from '../rules/wire.ts'
import {
  type Call,
  callOf,
  type ExecutionMemo,
  NO_DEADLINE_MS,
  type RunExecutionInput,
  type SegmentResult,
  timerName,
  type Wait,
} from './messages.ts'
import { httpCall, quickDb, segmentRun } from './options.ts'

const { runSegment } = proxyLocalActivities<Activities>(segmentRun)
const { closeCancelled } = proxyLocalActivities<Activities>(quickDb)
const { callHttp } = proxyActivities<Activities>(httpCall)
const waitUntilKey = defineSearchAttributeKey(searchAttributes.waitUntil, 'DATETIME')

const eventArrived = defineSignal<[segment: number]>(signals.eventArrived)
const cancelReason = defineSignal<[code: string]>(signals.cancelReason)

/**
 * Name of the patch that writes a cancellation to the memo: histories recorded before it must replay without that
 * step.
 */
const SHOWS_CANCELLATION = 'cancelled-in-memo'

/**
 * Runs an execution whose row and design are in Postgres. Ends COMPLETED, FAILED (with the node that failed; the row says why) or,
 * after a cancel request, CANCELED. The reason of a cancellation arrives as a signal before the request; without a
 * signal (a cancellation in the Web UI) it is `cancelled`. The row is closed in every case.
 */
export async function runExecution(input: RunExecutionInput): Promise<void> {
  const { executionId } = input
  const woken = new Set(input.woken)
  let code: CancelCode = 'cancelled'
  setHandler(eventArrived, (segment) => void woken.add(segment))
  setHandler(cancelReason, (given) => {
    code = toCancelCode(given)
  })

  let segment = input.segment ?? 0
  let { wait, call } = input
  let ended: SegmentResult['next'] | undefined
  try {
    while (!ended) {
      if (wait) await waitFor(wait, woken)
      if (call) await callHttp({ executionId, ...askedIn(call) })
      const result = await runSegment({ executionId, segment })
      const { next } = result
      wait = isUnshown(next, input) ? undefined : show(result, segment)
      call = next.kind === 'call' ? callOf(next, segment) : undefined
      segment += 1
      if (next.kind === 'end') ended = next
      else if (workflowInfo().continueAsNewSuggested) {
        // Waits that are over are asked for no more: a run of many laps would carry them all.
        const last = segment - 1
        const left = [...woken].filter((one) => one >= last)
        const { endsUnshown } = input
        const kept = endsUnshown ? { endsUnshown } : {}
        await goOn({ executionId, segment, ...leftOf(wait, call), woken: left, ...kept })
      }
    }
    // The row was cancelled before this segment ran: wait for the cancel request, which follows from the outbox, or which
    // the segment has asked for again.
    if (ended.kind === 'end' && ended.status === 'CANCELLED') await condition(() => false)
  } catch (err) {
    if (isCancellation(err)) {
      await CancellationScope.nonCancellable(async () => {
        if (patched(SHOWS_CANCELLATION)) showCancelled(code)
        await closeCancelled({ executionId, reason: code })
      })
    }
    // A plain Error fails the task alone: Temporal gives it to another worker, after a pause that grows.
    if (needsNewerWorker(err)) throw new Error('a newer release must run the segment')
    throw err
  }
  if (ended.kind === 'end' && ended.status === 'FAILED') {
    throw ApplicationFailure.nonRetryable(ended.error ?? 'failed', 'ExecutionFailed')
  }
}

/** A cancelled one shows by whom. */
const isUnshown = (next: SegmentResult['next'], { endsUnshown }: RunExecutionInput): boolean =>
  endsUnshown === true && next.kind === 'end' && next.status !== 'CANCELLED'

function needsNewerWorker(err: unknown): boolean {
  // That of a local activity comes as it was thrown.
  const failure = err instanceof ActivityFailure ? err.cause : err
  return failure instanceof ApplicationFailure && failure.type === failureTypes.needsNewerWorker
}

/** Adds the reason of the cancellation to the memo. */
function showCancelled(cancelled: CancelCode): void {
  const shown = workflowInfo().memo?.[memoKey] as ExecutionMemo | undefined
  const last = shown ?? { step: '', step_count: 0 }
  const memo: ExecutionMemo = { ...last, updated_at: Date.now(), timer: '', cancelled }
  upsertMemo({ [memoKey]: memo })
}

const askedIn = ({ nodeId: _, ...asked }: Call) => asked

const leftOf = (wait: Wait | undefined, call: Call | undefined) => ({
  ...(wait ? { wait } : {}),
  ...(call ? { call } : {}),
})

/** Continues as new and passes on memo and search attributes: the server alone would not keep a changed memo. */
function goOn(input: RunExecutionInput): Promise<never> {
  const { memo = {}, typedSearchAttributes } = workflowInfo()
  return makeContinueAsNewFunc<typeof runExecution>({ memo, typedSearchAttributes })(input)
}

/**
 * Sleeps until the deadline, or until a signal says that the wait is over. The next segment reads from the row of the wait
 * what ended it.
 */
async function waitFor(wait: Wait, woken: Set<number>): Promise<void> {
  const arrived = () => woken.has(wait.segment)
  if (wait.until === null) return condition(arrived)
  const left_ms = wait.until - Date.now()
  if (left_ms <= 0) return
  await condition(arrived, left_ms, { summary: timerName(wait.nodeId, wait.segment) })
}

/** Writes the state after a segment to memo and search attributes. Returns the wait that follows, if any. */
function show(result: SegmentResult, segment: number): Wait | undefined {
  const { next, step, step_count } = result
  const wait = next.kind === 'end' || next.kind === 'call' ? undefined : { ...next, segment }
  const timer = wait && wait.until !== null ? timerName(wait.nodeId, segment) : ''
  const memo: ExecutionMemo = { step, step_count, updated_at: Date.now(), timer }
  upsertMemo({ [memoKey]: memo })
  if (wait)
    upsertSearchAttributes([{ key: waitUntilKey, value: new Date(wait.until ?? NO_DEADLINE_MS) }])
  // A call is no wait: while it runs, the execution is in progress.
  else if (next.kind === 'call') upsertSearchAttributes([{ key: waitUntilKey, value: null }])
  return wait
}
