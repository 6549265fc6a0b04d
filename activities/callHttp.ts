// Makes the request of a node of an execution, tries it again where that may help, and writes what came of it to Postgres.
import {
  ApplicationFailure,
  CancelledFailure,
  cancellationSignal,
  heartbeat,
} from '@temporalio/activity'
import { ApplicationFailureCategory } from '@temporalio/common'
import { recordCall } from '../commands/executions/recordCall.ts'
import { type CallRow, findCall } from '../db/executions/calls.ts'
import { type CallTry, judgeCall } from '../rules/callOutcome.ts'
import type { WorkspaceId } from '../rules/ids.ts'
import type { Json, JsonObject } from '../rules/json.ts'
import { findJsonFault } from '../rules/jsonFault.ts'
import { limits } from '../rules/limits.ts'
import { type OutboundAnswer, OutboundError } from '../runtime/outbound.ts'
import type { CallHttpInput, CallHttpResult, SegmentInput } from '../workflows/messages.ts'
import { createCallPlaces } from './callPlaces.ts'
import type { ActivityDeps } from './deps.ts'
import { withoutSecrets } from './hideSecrets.ts'
import { hostKeyOf } from './hostKey.ts'
import { passPoint } from './points.ts'
import type { StoredRequest } from './segment/calls.ts'

const HEARTBEAT_MS = 2_000

type Deps = Pick<ActivityDeps, 'db' | 'now' | 'wake' | 'log' | 'secrets' | 'outbound' | 'callPace'>

/** The activity that makes the requests of nodes. */
export function httpActivities(deps: Deps) {
  const places = createCallPlaces()
  return {
    /**
     * Makes one try of the call in which a segment ended. One that is over, because an earlier try has written its answer, is
     * not made again. Errors: non-retryable `CallGone` when there is no such call; anything else is tried again, after the
     * pause that the answer asks for.
     */
    async callHttp(input: CallHttpInput): Promise<CallHttpResult> {
      const beats = setInterval(() => heartbeat(), HEARTBEAT_MS)
      try {
        const asked = await findAsked(deps, input)
        if ('outcome' in asked) return asked
        const giveBack = await takePlace(places, asked)
        try {
          const open = await findOpen(deps, input)
          return 'outcome' in open ? open : await attempt(deps, input, open.call, open.request)
        } finally {
          giveBack()
        }
      } finally {
        clearInterval(beats)
      }
    },
  }
}

/** Whose call it is, and the key of the host that it asks. */
interface Asked {
  workspaceId: WorkspaceId
  hostKey: string
}

/** By the input, so that those that find no place cost Postgres nothing. That of an earlier release does not say it. */
async function findAsked(deps: Deps, input: CallHttpInput): Promise<Asked | CallHttpResult> {
  const { workspaceId, hostKey } = input
  if (workspaceId !== undefined && hostKey !== undefined) return { workspaceId, hostKey }
  const open = await findOpen(deps, input)
  if ('outcome' in open) return open
  return { workspaceId: open.call.workspace_id, hostKey: hostKeyOf(open.request.url) }
}

/** @throws ApplicationFailure: there is no place, so the call comes again later; CancelledFailure */
async function takePlace(
  places: ReturnType<typeof createCallPlaces>,
  { workspaceId, hostKey }: Asked,
): Promise<() => void> {
  const giveBack = await places.take(workspaceId, hostKey, cancellationSignal()).catch((err) => {
    throw cutShort(err)
  })
  if (giveBack) return giveBack
  const after_ms = places.retryAfter_ms(workspaceId)
  throw again('NoPlace', 'too many calls are under way', after_ms)
}

/** The call with what is sent; its result when it is over. @throws ApplicationFailure, not to be tried again: there is no such call */
async function findOpen(
  { db, secrets }: Deps,
  { executionId, segment }: SegmentInput,
): Promise<{ call: CallRow; request: StoredRequest } | CallHttpResult> {
  const call = await findCall(db, executionId, segment)
  if (!call) throw ApplicationFailure.nonRetryable('no such call', 'CallGone')
  // The next segment finds that the execution has ended, or that its contact is gone.
  const isOver = call.outcome !== null || call.ended_status !== null || call.is_erased
  if (isOver || call.request === null) return { outcome: call.outcome ?? 'error' }
  const text = secrets.decrypt('http-request', call.request).toString('utf8')
  return { call, request: JSON.parse(text) as StoredRequest }
}

/** One try: asks, judges, and writes. */
async function attempt(
  deps: Deps,
  { executionId, segment }: SegmentInput,
  call: CallRow,
  request: StoredRequest,
): Promise<CallHttpResult> {
  const began = performance.now()
  const key = `${executionId}:${call.node_id}:${call.lap}`
  passPoint('call', { executionId, segment })
  const { answer, given } = await ask(deps, request, key)
  passPoint('called', { executionId, segment })
  const tries = call.tries + 1
  const verdict = judgeCall(given, tries, deps.now().getTime())
  const isWritten = await recordCall(deps, call.workspace_id, {
    executionId,
    segment,
    tries,
    took_ms: Math.round(performance.now() - began),
    status: answer?.status ?? null,
    end:
      verdict.kind === 'end'
        ? {
            outcome: verdict.handle,
            why: verdict.why,
            answer: answer && call.store_as !== null ? toStored(answer, request.hidden) : null,
          }
        : null,
  })
  passPoint('recorded', { executionId, segment })
  const about = { execution_id: executionId, node_id: call.node_id, tries, why: verdict.why }
  deps.log.debug(about, 'a node called another service')
  if (!isWritten) {
    const other = await findCall(deps.db, executionId, segment)
    return { outcome: other?.outcome ?? 'error' }
  }
  if (verdict.kind === 'end') return { outcome: verdict.handle }
  throw again('CallFailed', 'the call is tried again', verdict.after_ms * deps.callPace)
}

async function ask(
  { outbound }: Deps,
  { url, method, headers, body, timeout_ms }: StoredRequest,
  key: string,
): Promise<{ answer: OutboundAnswer | null; given: CallTry }> {
  const signal = cancellationSignal()
  try {
    const answer = await outbound({
      method,
      url: new URL(url),
      headers: {
        'user-agent': 'Dripline',
        accept: '*/*',
        ...latin1(headers),
        'accept-encoding': 'identity',
        'idempotency-key': key,
      },
      body,
      timeout_ms,
      bytesMax: limits.httpAnswerBytesMax,
      signal,
    })
    const { status, isCut } = answer
    const retryAfter = answer.headers['retry-after'] ?? null
    return { answer, given: { kind: 'answer', status, isCut, retryAfter } }
  } catch (err) {
    if (err instanceof OutboundError) {
      return { answer: null, given: { kind: 'fault', fault: err.fault } }
    }
    throw cutShort(err)
  }
}

/** What a try ends with that was cut short: a worker that stops gives its calls to another one. */
function cutShort(err: unknown): Error {
  const isCancelled = err instanceof CancelledFailure && err.message !== 'WORKER_SHUTDOWN'
  return isCancelled ? err : again('Interrupted', 'the call was interrupted', 0)
}

/** Node writes one byte for each character: so a header goes as UTF-8. */
function latin1(headers: Record<string, string>): Record<string, string> {
  const entries = Object.entries(headers)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Buffer.from(value, 'utf8').toString('latin1')]),
  )
}

/** The answer as conditions and Liquid read it, without the values of secrets. */
function toStored({ status, headers, body }: OutboundAnswer, hidden: string[]): JsonObject {
  const text = body.toString('utf8')
  return withoutSecrets({ status, headers, body: toJson(text) ?? text }, hidden) as JsonObject
}

/** null where a text is no JSON, or none that Postgres can store. */
function toJson(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return findJsonFault(value) ? null : (value as Json)
  } catch {
    return null
  }
}

/** A failure after which Temporal tries the call again. It says no more than its type. */
function again(type: string, message: string, after_ms: number): ApplicationFailure {
  const failure = ApplicationFailure.create({
    message,
    type,
    category: ApplicationFailureCategory.BENIGN,
    nextRetryDelay: Math.max(1, Math.round(after_ms)),
  })
  failure.stack = ''
  return failure
}
