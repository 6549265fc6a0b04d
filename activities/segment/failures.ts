// What Temporal learns when a try of a segment fails, or its execution: a closed type and a fixed text. The reason stands in the
// log, or in the execution's row, since histories hold no texts of servers, no values of contacts and no paths.
import { ApplicationFailure, CancelledFailure } from '@temporalio/activity'
import { ApplicationFailureCategory } from '@temporalio/common'
import { NewerEngine } from '../../rules/engine.ts'
import { UnknownKind } from '../../rules/interpreterErrors.ts'
import { failureTypes } from '../../rules/wire.ts'
import type { SegmentResult } from '../../workflows/messages.ts'
import type { ActivityDeps } from '../deps.ts'

/** A failure after which Temporal waits, so that the segment keeps no place of this worker until then. */
export const rendererBusy = (after_ms: number): ApplicationFailure =>
  closed('RendererBusy', 'too much of the workspace is being rendered now', { after_ms })

/** The failure of a segment that found no place among those of its contact. */
export const contactBusy = (after_ms: number): ApplicationFailure =>
  closed('ContactBusy', 'other segments of the contact take long now', { after_ms })

/** The failure of what found no place among the work of its workspace. */
export const workspaceBusy = (after_ms: number): ApplicationFailure =>
  closed('WorkspaceBusy', 'other work of the workspace takes long now', { after_ms })

/**
 * The result as Temporal may store it. The error of an execution that failed can have values of its contact in it (Liquid quotes
 * what it cannot read), so it is replaced by one that names the node; the row has the whole text.
 */
export function withClosedError(result: SegmentResult): SegmentResult {
  const { next, step } = result
  if (next.kind !== 'end' || next.error === null) return result
  const place = step === '' ? 'before its first node' : `at node ${step}`
  return { ...result, next: { ...next, error: `failed ${place}; the API says why` } }
}

/** Does the work of one try, and logs why it failed. @throws ApplicationFailure that says no more than its type */
export async function withClosedFailures<T>(
  log: ActivityDeps['log'],
  about: { execution_id: string; segment: number },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (err) {
    if (err instanceof ApplicationFailure || err instanceof CancelledFailure) throw err
    if (err instanceof UnknownKind || err instanceof NewerEngine) {
      log.warn({ err, ...about }, 'a segment needs a newer worker; it is left to one')
      throw leftToNewer()
    }
    log.warn({ err, ...about }, 'a segment failed; it is tried again')
    throw closed('SegmentFailed', 'the segment failed; the log of its worker says why')
  }
}

type Activity = (input: never) => Promise<unknown>

/** The same activities. What one throws that was not said for Temporal is logged, and tried again. */
export function withClosedFaults<T extends Record<string, Activity>>(
  log: ActivityDeps['log'],
  activities: T,
): T {
  const closing = Object.entries(activities).map(([name, run]) => [
    name,
    async (input: never) => {
      try {
        return await run(input)
      } catch (err) {
        if (err instanceof ApplicationFailure || err instanceof CancelledFailure) throw err
        // It has ids, numbers and digests alone (`workflows/messages.ts`).
        log.warn({ err, activity: name, input }, 'an activity failed; it is tried again')
        throw closed('ActivityFailed', 'the activity failed; the log of its worker says why')
      }
    },
  ])
  return Object.fromEntries(closing) as T
}

/** Not tried again here: with it the workflow function gives its task to another worker. */
const leftToNewer = (): ApplicationFailure =>
  closed(failureTypes.needsNewerWorker, 'a newer release must run the segment', { final: true })

function closed(
  type: string,
  message: string,
  { after_ms, final = false }: { after_ms?: number; final?: boolean } = {},
): ApplicationFailure {
  const failure = ApplicationFailure.create({
    message,
    type,
    // It has been logged.
    category: ApplicationFailureCategory.BENIGN,
    nonRetryable: final,
    ...(after_ms === undefined ? {} : { nextRetryDelay: after_ms }),
  })
  failure.stack = ''
  return failure
}
