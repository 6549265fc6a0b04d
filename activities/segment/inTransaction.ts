// The transaction of a segment: locks the contact, walks, and writes everything that the nodes did.
import { writeEmails } from '../../commands/emails/write.ts'
import { type ToldOfMail, tellLockedContact } from '../../commands/events/tellContacts.ts'
import type { InTrx } from '../../commands/transact.ts'
import { lockAudience } from '../../db/audiences/writes.ts'
import type { Trx } from '../../db/connect.ts'
import { lockContact } from '../../db/contacts/writes.ts'
import { stopMailOfExecutions } from '../../db/deliveries/stop.ts'
import type { NewEmail } from '../../db/emails/insert.ts'
import { findCallResult } from '../../db/executions/calls.ts'
import { lockPaused } from '../../db/executions/held.ts'
import { findSegmentState } from '../../db/executions/segmentState.ts'
import { insertSegment, type SegmentRow, type SegmentWrites } from '../../db/executions/segments.ts'
import { cancelAgain } from '../../db/executions/writes.ts'
import type { Design } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { goalEventNames } from '../../rules/interrupts.ts'
import { isGivenUp } from '../../rules/suspects.ts'
import { toCancelCode } from '../../rules/wire.ts'
import { NotAlone, type Turn } from '../../runtime/gate.ts'
import type { SegmentInput, SegmentResult } from '../../workflows/messages.ts'
import type { ActivityDeps } from '../deps.ts'
import { passPoint } from '../points.ts'
import { writeCall } from './calls.ts'
import { createEffects } from './effects.ts'
import { endAsRow, isEndedElsewhere } from './ended.ts'
import { findConditions, loadFacts } from './facts.ts'
import { giveUp } from './giveUp.ts'
import { countSent, createSegmentMail, type loadSources } from './mail.ts'
import type { SegmentTexts } from './texts.ts'
import { awaitedEventName, type Marked, type Walk, walk } from './walk.ts'

export interface Run {
  input: SegmentInput
  execution: SegmentRow<SegmentResult>
  design: Design
  sources: Awaited<ReturnType<typeof loadSources>>
  texts: SegmentTexts
  turn: Turn
  /** Ids of audiences that its nodes leave, as far as a try before has found out. */
  lockedAudiences: ReadonlySet<string>
  /** Names of events that are recorded before it begins, as far as a try before has found out. */
  namesToTell: ReadonlySet<string>
}

/**
 * Runs the nodes and writes what they did, in the caller's transaction.
 * @returns null: it has recorded a part of the contact's mail events by which it decides, and is to run again in another transaction
 * @throws NotRendered, AudiencesNotLocked, MailEventsLeft; what Postgres says
 */
export async function runInTransaction(
  deps: InTrx<ActivityDeps>,
  run: Run,
): Promise<SegmentResult | null> {
  const { input, execution, design, sources, texts, turn, lockedAudiences } = run
  texts.beginWalk()
  const { db: trx } = deps
  const { workspace_id: workspaceId, previous } = execution
  for (const id of [...lockedAudiences].sort()) await lockAudience(trx, workspaceId, id)
  const contact = await lockContact(trx, workspaceId, execution.contact_id)
  passPoint('locked', input)
  // The clock is read under the lock, so that no event of the contact is later than the time of this segment.
  const now = deps.now()
  const recordEvents = mailEventRecorder(deps, execution, contact?.id ?? null)
  const waitedAt = previous && previous.next.kind !== 'end' ? previous.next.nodeId : ''
  const read = await findConditions(trx, execution, design)
  const names = decidingNames(design, waitedAt, read.facts.eventNames)
  if ((await recordEvents([...names, ...run.namesToTell])) === 'some') return null
  const hmac = deps.addressMac(workspaceId, contact?.email ?? '')
  const state = await findSegmentState<SegmentResult>(trx, workspaceId, {
    ...input,
    waitedAt,
    hmac,
    now,
  })
  // Another try of this segment has committed in the meantime, or the execution was cancelled.
  const stored = state.result
  if (!contact || isEndedElsewhere(state, stored)) return endAsRow(deps, execution, state)
  if (stored) return stored

  if (isGivenUp(execution.deaths)) {
    const writes = giveUp(execution, input.segment, design)
    return write(trx, workspaceId, { ...writes, now })
  }
  // One that is about to be cancelled stays held, as if the workflow were paused still. Only one that is about to be held waits for whoever
  // changes the workflow at this moment.
  const mayHold = state.is_paused && design.settings?.on_pause === 'hold'
  state.is_paused =
    state.awaits_cancel || (mayHold && (await lockPaused(trx, workspaceId, execution.workflow_id)))
  const called = await findCalled(trx, run)
  const known = { execution, design, contact, state, now, previous, called, hmac, read }
  const facts = await loadFacts(trx, known)
  const sent = await countSent(trx, execution, design, now)
  const mail = createSegmentMail(deps, { execution, design, sources, state, sent, now, texts })
  const marked = markOf(deps, execution, turn)
  const atNow = { ...deps, now: () => now }
  const effects = createEffects(atNow, { ...run, contact, state })
  const { perform } = effects
  const outcome = await walk(trx, { ...run, ...known, facts, mail, recordEvents, perform, marked })
  texts.requireAll()
  passPoint('walked', input)

  // Before the mails, whose event `email.sent` starts workflows by what the contact's properties are now.
  await effects.flush(outcome.facts)
  await writeMade(atNow, run, contact, mail.planned, outcome)
  await write(trx, workspaceId, { ...outcome.writes, result: outcome.result, now })
  if (outcome.writes.end?.status === 'CANCELLED') await cancelItself(atNow, execution, outcome)
  passPoint('written', input)
  return outcome.result
}

/** Names of the events that end the wait at that node, interrupt the execution, or are counted by conditions. */
const decidingNames = (design: Design, waitedAt: string, counted: readonly string[]): string[] => {
  const awaited = awaitedEventName(design, waitedAt)
  return [...(awaited === null ? [] : [awaited]), ...goalEventNames(design), ...counted]
}

/** A click may have happened while its mail event is still in the outbox: recording it now lets it end its wait, and be counted. */
const mailEventRecorder =
  (deps: InTrx<ActivityDeps>, execution: SegmentRow, contactId: string | null) =>
  async (names: readonly string[], byExecution?: string): Promise<ToldOfMail> => {
    if (contactId === null) return 'all'
    const { workspace_id: workspaceId } = execution
    const told = await tellLockedContact(deps, workspaceId, contactId, names, byExecution)
    if (told === 'none') {
      const about = { execution_id: execution.id, event_names: names }
      deps.log.warn(about, 'mail events by which a segment decides could not be recorded')
    }
    return told
  }

/** Writes the emails of the segment, and the request in which it ended. */
async function writeMade(
  deps: InTrx<ActivityDeps>,
  run: Run,
  { id, email }: { id: string; email: string },
  emails: readonly NewEmail[],
  { call, facts }: Walk,
): Promise<void> {
  const told = { id, email, chainDepth: facts.depth }
  await writeEmails(deps, run.execution.workspace_id, emails, told)
  if (call) await writeCall(deps, run, call, facts)
}

type Called = NonNullable<Awaited<ReturnType<typeof findCallResult>>>

/** How the call ended in which the segment before did. @throws Error when it is still to be made */
async function findCalled(trx: Trx, { input, execution }: Run): Promise<Called | null> {
  const { previous, workspace_id } = execution
  if (previous?.next.kind !== 'call') return null
  const { executionId, segment } = input
  const found = await findCallResult(trx, workspace_id, { executionId, segment: segment - 1 })
  if (!found) throw new Error('the call before the segment is not over')
  return found
}

/** Asks Temporal to cancel the run that a node of its own has ended; its marketing mail that waits goes no more. */
async function cancelItself(
  { db: trx, now, wake }: InTrx<ActivityDeps>,
  { id: executionId, workspace_id }: SegmentRow,
  { writes: { end } }: Walk,
): Promise<void> {
  const code = toCancelCode(end?.code)
  await cancelAgain(trx, workspace_id, { executionId, code }, now())
  await stopMailOfExecutions(trx, workspace_id, [executionId], now())
  wake('dripline_outbox')
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
