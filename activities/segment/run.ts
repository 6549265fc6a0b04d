// Runs one segment of an execution: all nodes between two waits, in one Postgres transaction. It takes effect
// once.
import { setTimeout as delay } from 'node:timers/promises'
import { ApplicationFailure, cancellationSignal } from '@temporalio/activity'
import { writeEmail } from '../../commands/emails/write.ts'
import { tellLockedContact } from '../../commands/events/tellContacts.ts'
import { closeExecution } from '../../commands/executions/close.ts'
import { type InTrx, transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import { lockContact, updateContactProperties } from '../../db/contacts/writes.ts'
import {
  findSegment,
  findSegmentState,
  insertSegment,
  type SegmentRow,
  type SegmentWrites,
} from '../../db/executions/segments.ts'
import { dataFaultOf } from '../../db/failures.ts'
import type { Design } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isGivenUp } from '../../rules/suspects.ts'
import { createGate, NotAlone, type Turn } from '../../runtime/gate.ts'
import type { CloseCancelledInput, SegmentInput, SegmentResult } from '../../workflows/messages.ts'
import type { ActivityDeps } from '../deps.ts'
import { endAsRow, isEndedElsewhere } from './ended.ts'
import { loadFacts } from './facts.ts'
import { comeAgain, withClosedError, withClosedFailures } from './failures.ts'
import { giveUp } from './giveUp.ts'
import { createKeptTexts, type KeptTexts } from './keptTexts.ts'
import { createSegmentMail, loadMailSources } from './mail.ts'
import { createRefusals, endRefused, type Refusals } from './refused.ts'
import { createRenderPlaces, type RenderPlaces } from './renderPlaces.ts'
import { createSegmentTexts, NotRendered, RendererBusy, type SegmentTexts } from './texts.ts'
import { awaitedEventName, type Marked, walk } from './walk.ts'

/** Walks after which a segment whose mails are other ones each time waits between two of them, and gives up. */
const QUICK_WALKS = 3
const WALKS_MAX = 30
const PAUSE_MS = 1_000

/** The activities of `runExecution`. */
export function segmentActivities(deps: ActivityDeps) {
  const own: Shared = {
    gate: createGate(),
    renderPlaces: createRenderPlaces(),
    keptTexts: createKeptTexts(),
    refusals: createRefusals(),
  }
  return {
    /**
     * Runs a segment. If it ran before and a crash kept Temporal from learning the result, returns that stored
     * result. What Postgres refuses for its data again and again ends the execution FAILED (`createRefusals`). Errors: non-retryable
     * `ExecutionGone` when there is no such execution; anything else is tried again.
     */
    runSegment: (input: SegmentInput): Promise<SegmentResult> =>
      withClosedFailures(
        deps.log,
        { execution_id: input.executionId, segment: input.segment },
        async () => withClosedError(await runOnce(deps, own, input)),
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
  renderPlaces: RenderPlaces
  keptTexts: KeptTexts
  refusals: Refusals
}

/** One try of a segment. */
async function runOnce(
  deps: ActivityDeps,
  own: Shared,
  input: SegmentInput,
): Promise<SegmentResult> {
  const { executionId, segment } = input
  const execution = await findSegment<SegmentResult>(deps.db, executionId, segment)
  if (!execution) throw ApplicationFailure.nonRetryable('no such execution', 'ExecutionGone')
  const isEnded = isEndedElsewhere(execution, execution.result)
  if (execution.result && !isEnded) return execution.result
  const id = `${executionId}/${segment}`
  try {
    const result = await attempt(deps, own, input, execution)
    own.refusals.forget(id)
    return result
  } catch (err) {
    const sqlState = dataFaultOf(err)
    if (sqlState === null || !own.refusals.isFinal(id, sqlState, deps.now())) throw err
    deps.log.error(
      { err, execution_id: executionId, segment },
      'Postgres refuses what a segment writes: its execution ends',
    )
    const ended = await transact(deps, (inTrx) => endRefused(inTrx, execution, segment, sqlState))
    own.refusals.forget(id)
    return ended
  }
}

async function attempt(
  deps: ActivityDeps,
  { gate, renderPlaces, keptTexts }: Shared,
  input: SegmentInput,
  execution: SegmentRow<SegmentResult>,
): Promise<SegmentResult> {
  const { executionId, segment } = input
  const { workspace_id: workspaceId } = execution
  const id = `${executionId}/${segment}`
  // It was turned away before, and would be again.
  if (keptTexts.has(id) && renderPlaces.isFull(workspaceId)) {
    throw comeAgain(renderPlaces.comeback(workspaceId))
  }
  const design = execution.design as Design
  const sources = await loadMailSources(deps.db, workspaceId, design)
  const { renderer, config } = deps
  const kept = keptTexts.of(id)
  const texts = createSegmentTexts(
    { renderer, renderPlaces, publicUrl: config.publicUrl },
    workspaceId,
    kept,
  )
  const isGivenUpNow = isGivenUp(execution.deaths)
  // Aborted also when this try is past its time.
  const signal = cancellationSignal()
  const isSuspect = execution.deaths !== null && !isGivenUpNow
  const run = () =>
    gate.run(
      isSuspect,
      (turn) =>
        transact(deps, (inTrx) =>
          runInTransaction(inTrx, { input, execution, design, sources, texts, turn }),
        ),
      signal,
    )
  const renderWanted = async () => {
    try {
      await texts.renderWanted(signal)
    } catch (err) {
      throw err instanceof RendererBusy ? comeAgain(renderPlaces.comeback(workspaceId)) : err
    } finally {
      // The try after one that was given up may have written the segment by now.
      if (!signal.aborted) keptTexts.keep(id, kept)
    }
  }
  const result = await withTexts(run, renderWanted)
  keptTexts.forget(id)
  if (isGivenUpNow) deps.blame.gaveUp('segment', executionId)
  return result
}

interface Run {
  input: SegmentInput
  execution: SegmentRow<SegmentResult>
  design: Design
  sources: Awaited<ReturnType<typeof loadMailSources>>
  texts: SegmentTexts
  turn: Turn
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

async function runInTransaction(deps: InTrx<ActivityDeps>, run: Run): Promise<SegmentResult> {
  const { input, execution, design, sources, texts, turn } = run
  texts.beginWalk()
  const { db: trx } = deps
  const { workspace_id: workspaceId, previous } = execution
  const contact = await lockContact(trx, workspaceId, execution.contact_id)
  // The clock is read under the lock, so that no event of the contact is later than the time of this segment.
  const now = deps.now()
  // A click may have happened while its mail event is still in the outbox: recording it now lets it end its wait.
  const hear = async (eventName: string) => {
    if (!contact || (await tellLockedContact(deps, workspaceId, contact.id, eventName))) return
    const about = { execution_id: execution.id, event_name: eventName }
    deps.log.warn(about, 'mail events of a waiting execution could not be recorded')
  }
  const awaited = previous?.next.kind === 'wait_event' ? previous.next.nodeId : null
  const awaitedName = awaited === null ? null : awaitedEventName(design, awaited)
  if (awaitedName !== null) await hear(awaitedName)
  const hmac = deps.addressMac(workspaceId, contact?.email ?? '')
  const state = await findSegmentState<SegmentResult>(trx, workspaceId, { ...input, hmac, now })
  // Another try of this segment has committed in the meantime, or the execution was cancelled.
  const stored = state.result
  if (!contact || isEndedElsewhere(state, stored)) return endAsRow(deps, execution, state)
  if (stored) return stored

  if (isGivenUp(execution.deaths)) {
    const writes = giveUp(execution, input.segment, design)
    return write(trx, workspaceId, { ...writes, now })
  }
  const facts = await loadFacts(trx, { execution, design, contact, state, now, previous })
  const mail = createSegmentMail(deps, { execution, design, sources, state, now, texts })
  const marked = markOf(deps, execution, turn)
  const outcome = await walk(trx, { ...run, state, facts, previous, mail, hear, marked })
  texts.requireAll()

  const told = { email: contact.email, chainDepth: execution.chain_depth }
  // Before the mails, whose event `email.sent` starts workflows by what the contact's properties are now.
  if (outcome.properties !== contact.properties) {
    await updateContactProperties(trx, workspaceId, contact.id, outcome.properties, now)
  }
  for (const email of mail.planned) await writeEmail(deps, workspaceId, email, [told])
  return write(trx, workspaceId, { ...outcome.writes, result: outcome.result, now })
}

async function write(
  trx: Trx,
  workspaceId: WorkspaceId,
  writes: SegmentWrites & { result: SegmentResult },
): Promise<SegmentResult> {
  const isWritten = await insertSegment(trx, workspaceId, writes)
  // Rolls back. The next try finds how the execution ended.
  if (!isWritten) throw new Error('the execution ended while its segment ran')
  return writes.result
}

/** Marks the synchronous work of a segment, so that it is known when it ends the worker. */
function markOf({ blame }: Pick<ActivityDeps, 'blame'>, execution: SegmentRow, turn: Turn): Marked {
  return (step, work) => {
    const alone = turn.isAlone()
    if (execution.deaths !== null && !alone) {
      throw new NotAlone('the time that a suspect may run alone was over before its nodes were run')
    }
    return blame.during({ kind: 'segment', id: execution.id, step, alone }, work)
  }
}
