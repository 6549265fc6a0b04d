// Runs one segment of an execution: all nodes between two waits, in one Postgres transaction. It takes effect
// once.
import { setTimeout as delay } from 'node:timers/promises'
import { ApplicationFailure, cancellationSignal } from '@temporalio/activity'
import { closeExecution } from '../../commands/executions/close.ts'
import { transact } from '../../commands/transact.ts'
import { AudiencesNotLocked } from '../../commands/unsubscribes/byNode.ts'
import { findSegment, reachOfWriter, type SegmentRow } from '../../db/executions/segments.ts'
import { dataFaultOf } from '../../db/failures.ts'
import type { Design } from '../../rules/design/types.ts'
import { ENGINE, NewerEngine } from '../../rules/engine.ts'
import { LoopWithoutTime } from '../../rules/interpreterErrors.ts'
import { isGivenUp } from '../../rules/suspects.ts'
import { createGate, type Turn } from '../../runtime/gate.ts'
import type { CloseCancelledInput, SegmentInput, SegmentResult } from '../../workflows/messages.ts'
import type { ActivityDeps } from '../deps.ts'
import { passPoint } from '../points.ts'
import { isEndedElsewhere, pastBy, storedAgain } from './ended.ts'
import { rendererBusy, withClosedError, withClosedFailures } from './failures.ts'
import { runInTransaction } from './inTransaction.ts'
import { createKeptTexts, type KeptTexts } from './keptTexts.ts'
import { loadSources } from './mail.ts'
import { createRefusals, endFailed, type Refusals, refusedError } from './refused.ts'
import { createRenderPlaces, type RenderPlaces } from './renderPlaces.ts'
import { createRunPlaces, type RunPlaces } from './runPlaces.ts'
import { createSegmentTexts, NotRendered, RendererBusy } from './texts.ts'
import { MailEventsLeft } from './walk.ts'

/** Walks after which a segment whose mails are other ones each time waits between two of them, and gives up. */
const QUICK_WALKS = 3
const WALKS_MAX = 30
const PAUSE_MS = 1_000

/** The activities of `runExecution`. */
export function segmentActivities(deps: ActivityDeps) {
  const shared: Shared = {
    gate: createGate(),
    runPlaces: createRunPlaces(deps.config.databasePoolSize),
    renderPlaces: createRenderPlaces(),
    keptTexts: createKeptTexts(),
    refusals: createRefusals(),
  }
  return {
    /**
     * Runs a segment. If it ran before and a crash kept Temporal from learning the result, returns that stored
     * result. What Postgres refuses for its data again and again ends the execution FAILED (`createRefusals`).
     * Errors: non-retryable `ExecutionGone` when there is no such execution, and `NeedsNewerWorker` when this release does
     * not know a part of its design; anything else is tried again.
     */
    runSegment: (input: SegmentInput): Promise<SegmentResult> =>
      withClosedFailures(
        deps.log,
        { execution_id: input.executionId, segment: input.segment },
        async () => withClosedError(await runOnce(deps, shared, input)),
      ),

    /** Closes the row of an execution that was cancelled; repeating it changes nothing. */
    async closeCancelled({ executionId, reason }: CloseCancelledInput): Promise<void> {
      await closeExecution(deps, executionId, { status: 'CANCELLED', code: reason })
    },
  }
}

/** What the segments of one worker share. */
interface Shared {
  gate: ReturnType<typeof createGate>
  runPlaces: RunPlaces
  renderPlaces: RenderPlaces
  keptTexts: KeptTexts
  refusals: Refusals
}

/** One try of a segment. */
async function runOnce(
  deps: ActivityDeps,
  shared: Shared,
  input: SegmentInput,
): Promise<SegmentResult> {
  const { executionId, segment } = input
  passPoint('begin', input)
  const execution = await findSegment<SegmentResult>(deps.db, executionId, segment)
  if (!execution) throw ApplicationFailure.nonRetryable('no such execution', 'ExecutionGone')
  const isEnded = isEndedElsewhere(execution, execution.result)
  if (execution.result && !isEnded) return storedAgain(deps, execution, execution.result)
  if (execution.later && !isEnded) return pastBy(execution.later)
  if (execution.engine > ENGINE) throw new NewerEngine(execution.engine)
  const id = `${executionId}/${segment}`
  try {
    const result = await attempt(deps, shared, input, execution)
    shared.refusals.forget(id)
    return result
  } catch (err) {
    if (err instanceof LoopWithoutTime) {
      return transact(deps, (inTrx) => endFailed(inTrx, execution, segment, err.message))
    }
    const sqlState = dataFaultOf(err)
    if (sqlState === null || !shared.refusals.isFinal(id, sqlState, deps.now())) throw err
    deps.log.error(
      { err, execution_id: executionId, segment },
      'Postgres refuses what a segment writes: its execution ends',
    )
    const error = refusedError(execution, sqlState)
    const ended = await transact(deps, (inTrx) => endFailed(inTrx, execution, segment, error))
    shared.refusals.forget(id)
    return ended
  }
}

async function attempt(
  deps: ActivityDeps,
  shared: Shared,
  input: SegmentInput,
  execution: SegmentRow<SegmentResult>,
): Promise<SegmentResult> {
  const { executionId, segment } = input
  const { workspace_id: workspaceId } = execution
  const { gate, runPlaces, renderPlaces, keptTexts } = shared
  const id = `${executionId}/${segment}`
  // It was turned away before, and would be again.
  if (keptTexts.has(id) && renderPlaces.isFull(workspaceId)) {
    throw rendererBusy(renderPlaces.retryAfter_ms(workspaceId))
  }
  const design = execution.design as Design
  const sources = await loadSources(deps, reachOfWriter(execution), design)
  const { renderer, config } = deps
  const kept = keptTexts.of(id)
  const rendering = { renderer, renderPlaces, publicUrl: config.publicUrl }
  const texts = createSegmentTexts(rendering, workspaceId, kept)
  const isGivenUpNow = isGivenUp(execution.deaths)
  const lockedAudiences = new Set<string>()
  const namesToTell = new Set<string>()
  // Aborted also when this try is past its time.
  const signal = cancellationSignal()
  const isSuspect = execution.deaths !== null && !isGivenUpNow
  const given = { input, execution, design, sources, texts, lockedAudiences, namesToTell }
  const transaction = (turn: Turn) =>
    transact(deps, (inTrx) => runInTransaction(inTrx, { ...given, turn }))
  const run = async () => {
    const giveBack = await runPlaces.take(execution, signal)
    try {
      return await gate.run(isSuspect, transaction, signal)
    } finally {
      giveBack()
    }
  }
  const renderWanted = async () => {
    try {
      await texts.renderWanted(signal)
    } catch (err) {
      throw err instanceof RendererBusy
        ? rendererBusy(renderPlaces.retryAfter_ms(workspaceId))
        : err
    } finally {
      // The try after one that was given up may have written the segment by now.
      if (!signal.aborted) keptTexts.keep(id, kept)
    }
  }
  const runWithMailEvents = () => withMailEvents(run, namesToTell, signal)
  const runLocked = () => withAudiences(runWithMailEvents, lockedAudiences)
  const result = await withTexts(runLocked, renderWanted)
  passPoint('committed', input)
  keptTexts.forget(id)
  if (isGivenUpNow) deps.blame.gaveUp('segment', executionId)
  return result
}

/**
 * Runs the segment again until all mail events by which it decides are recorded. A pass that finds too many before it walks commits those
 * that it has recorded, and gives null; one that finds them while it walks is undone (`MailEventsLeft`), and the next one records that name
 * first.
 */
async function withMailEvents<T>(
  attempt: () => Promise<T | null>,
  names: Set<string>,
  signal: AbortSignal,
): Promise<T> {
  for (;;) {
    try {
      const result = await attempt()
      if (result !== null) return result
    } catch (err) {
      if (!(err instanceof MailEventsLeft)) throw err
      names.add(err.eventName)
    }
    signal.throwIfAborted()
  }
}

/** Runs the segment again with the locks of the audiences that its nodes leave, since these are locked before the contact. */
async function withAudiences<T>(attempt: () => Promise<T>, audiences: Set<string>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt()
    } catch (err) {
      if (!(err instanceof AudiencesNotLocked) || tries >= WALKS_MAX) throw err
      for (const id of err.ids) audiences.add(id)
    }
  }
}

/**
 * Runs the segment again until all of its mails are rendered. A walk that meets one that is not writes nothing and gives
 * the lock back; then it is rendered, and the next walk takes its text if template and values are still the same.
 */
async function withTexts<T>(
  attempt: () => Promise<T>,
  renderWanted: () => Promise<void>,
): Promise<T> {
  for (let walks = 1; walks <= WALKS_MAX; walks++) {
    try {
      return await attempt()
    } catch (err) {
      if (!(err instanceof NotRendered)) throw err
    }
    await renderWanted()
    if (walks >= QUICK_WALKS) await delay(PAUSE_MS)
  }
  throw new Error('the mails of the segment were other ones in each walk')
}
