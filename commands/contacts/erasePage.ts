// A page of the job that blanks what is left of an erased contact.
import {
  blankWebhookEvents,
  deleteEvents,
  forgetPlaces,
  listEventsOf,
} from '../../db/contacts/blank.ts'
import {
  cancelMail,
  deleteContactNews,
  deleteLiveErasure,
  type Erased,
} from '../../db/contacts/erase.ts'
import { listOpenTransactions, type OpenTransaction } from '../../db/contacts/openTransactions.ts'
import { waitingBriefly } from '../../db/contacts/writes.ts'
import { isOfSendingDomain } from '../../db/domains/sending.ts'
import { isLockTimeout } from '../../db/failures.ts'
import type { JobRow } from '../../db/jobs/reads.ts'
import { updateJob } from '../../db/jobs/writes.ts'
import { blankTagChanges, blankTags } from '../../db/stats/blank.ts'
import { eraseSuppression } from '../../db/suppressions/erased.ts'
import { limits } from '../../rules/limits.ts'
import { eventIdHash } from '../events/record.ts'
import type { JobPage, JobPageDeps } from '../jobs/page.ts'
import { inSavepoint } from '../transact.ts'
import { blankAnswers } from './eraseAnswers.ts'
import { cancelTheirs, eraseExecutions } from './eraseExecutions.ts'
import { type EraseInput, inputOfOver, ofInput } from './eraseInput.ts'
import {
  blankErasedMail,
  cancelErasedMail,
  hasErasedMailLeft,
  lockErasedMail,
  lockItsDeliveries,
  type Whom,
} from './eraseMail.ts'
import { eraseMemberships } from './eraseMemberships.ts'
import { ALL, type ErasePlace, readPlace, writePlace } from './erasePlace.ts'

/** Rows of each kind. Of each mail a lock is taken, of which Postgres has some thousand. */
const PAGE = 100
/** Counts by tag that one page looks at. */
const TAGS_PAGE = 1_000
const WAIT_MIN_MS = 100
const WAIT_MAX_MS = 60_000
/** After so long it is logged for whom the job waits. */
const TOLD_AFTER_MS = 5 * 60_000

type Done = Pick<JobPage, 'done' | 'counts'>

/**
 * Nothing is blanked before those transactions have ended that may not know yet that the contact is gone. Then each page does some rows of
 * each kind, and the last one looks at all mail again. A job whose mail is under way rests until that is settled; for what goes to
 * others too it waits `eraseWaitsMs`, and not for scheduled mail.
 */
export async function eraseJobPage(deps: JobPageDeps, job: JobRow): Promise<JobPage> {
  const { db: trx, now } = deps
  const { workspace_id: workspaceId, id } = job
  const erased = ofInput(deps, job.input as EraseInput)
  const age_ms = Math.max(0, now().getTime() - job.created_at.getTime())
  const wait_ms = Math.min(WAIT_MAX_MS, Math.max(WAIT_MIN_MS, Math.round(age_ms / 4)))
  const nothing = { place: job.place, done: 0, counts: {}, failures: [], isOver: false }
  const waitsFor = await listAwaited(deps, job)
  if (waitsFor.length > 0) {
    const done = await endTheirs(deps, job, erased)
    const page = done < PAGE ? { ...nothing, done, wait_ms } : { ...nothing, done }
    return age_ms < TOLD_AFTER_MS ? page : { ...page, waitsFor }
  }
  const isCustomers = await isOfSendingDomain(trx, workspaceId, erased.email)
  const whom = { ...erased, isCustomers }
  const mail = { waits: age_ms < limits.eraseWaitsMs, limit: PAGE }
  const { at, ...page } = await blankPage(deps, job, whom, mail)
  if (page.done > 0 || !isWalked(at)) return { ...nothing, ...page, place: writePlace(deps, at) }
  // To look for mail that is left is to read all mail to the team, so it is done twice: before the first page of tags, and after the last
  // one; where that finds some, the pages of tags begin anew.
  const hasMailLeft = () => hasErasedMailLeft(trx, workspaceId, whom)
  if (!at.tag && (await hasMailLeft())) {
    return { ...nothing, ...page, place: writePlace(deps, at), wait_ms }
  }
  const { looked, last, isOver } = await eraseTags(deps, job, whom, at.tag)
  const place = writePlace(deps, { ...at, tag: last })
  if (!isOver || (at.tag && (await hasMailLeft()))) {
    return { ...nothing, ...page, place, done: looked }
  }
  // Not before: mail of a release before that comes back from its lane has no HMAC, and is stopped by the address alone.
  await eraseSuppression(trx, workspaceId, whom)
  await forgetPlaces(trx, workspaceId, whom.email)
  await deleteLiveErasure(trx, workspaceId, whom)
  await updateJob(trx, workspaceId, id, { input: inputOfOver(job) })
  return { ...nothing, ...page, place, done: looked, isOver: true }
}

/** Transactions that are open and were so at the first page. */
async function listAwaited(
  { db: trx }: JobPageDeps,
  { workspace_id: workspaceId, id, input: given }: JobRow,
): Promise<OpenTransaction[]> {
  const input = given as EraseInput
  const before = input.waits_for ?? null
  if (before?.length === 0) return []
  const open = await listOpenTransactions(trx, before)
  // Kept also where there is none: a later page would wait anew for whatever runs then.
  if (open.length !== before?.length) {
    const waits_for = open.map((one) => one.virtualxid)
    await updateJob(trx, workspaceId, id, { input: JSON.stringify({ ...input, waits_for }) })
  }
  return open
}

/**
 * Who joined an audience during the answer, what a lane gives back, and what one commit was too small for do not wait for who is still writing.
 * @returns how many executions and how much mail were cancelled
 */
async function endTheirs(
  deps: JobPageDeps,
  { workspace_id: workspaceId }: JobRow,
  erased: Erased,
): Promise<number> {
  const { db: trx, now } = deps
  const { email, members, contactId } = erased
  await inSavepoint(
    trx,
    () =>
      waitingBriefly(trx, () => eraseMemberships(deps, workspaceId, { email, members, at: now() })),
    // Who holds an audience for long keeps nothing else from being done; the next page tries again.
    (err) => !isLockTimeout(err),
  )
  const next = { now: now(), limit: PAGE }
  const executions = await cancelTheirs(deps, workspaceId, contactId, next)
  const mails = await cancelErasedMail(trx, workspaceId, erased, next)
  await deleteContactNews(trx, workspaceId, contactId)
  return executions + mails
}

/** Bodies of webhooks come before the mail by whose recipients they are found. */
async function blankPage(
  deps: JobPageDeps,
  job: JobRow,
  whom: Whom,
  ofMail: { waits: boolean; limit: number },
): Promise<Done & { at: ErasePlace }> {
  const { db: trx, now } = deps
  const { workspace_id: workspaceId } = job
  const { contactId } = whom
  const from = readPlace(deps, job.place)
  const events = await listEventsOf(trx, workspaceId, contactId, PAGE)
  const isPassedOverLater = hasMoreToDo(from) || events.length > 0
  const toBlank = await lockErasedMail(trx, workspaceId, whom, {
    ...ofMail,
    from,
    isPassedOverLater,
  })
  const { email, members } = whom
  await eraseMemberships(deps, workspaceId, { email, members, at: now() })
  const next = { now: now(), limit: PAGE }
  const ofExecutions = { ...next, after: from.execution }
  const executions = await eraseExecutions(deps, workspaceId, contactId, ofExecutions)
  // No lane sends what waits for the team meanwhile.
  const cancel = from.team === ALL && !isPassedOverLater ? cancelErasedMail : cancelMail
  const cancelled = await cancel(trx, workspaceId, whom, next)
  await deleteContactNews(trx, workspaceId, contactId)
  await eraseEvents(deps, job, events)
  const answers = await blankAnswers(trx, workspaceId, whom, { ...from, execution: executions.at })
  await lockItsDeliveries(trx, workspaceId, toBlank)
  const bodies = await blankWebhookEvents(trx, workspaceId, whom, PAGE)
  const isMailNext = bodies < PAGE
  const mails = isMailNext ? await blankErasedMail(trx, workspaceId, whom, toBlank, next.now) : 0
  const { count: answered, looked, last } = answers
  return {
    at: {
      execution: executions.at,
      answer: last,
      tag: from.tag,
      ...(isMailNext ? toBlank.at : { team: from.team, naming: from.naming }),
    },
    done:
      executions.cancelled +
      executions.blanked +
      cancelled +
      events.length +
      looked +
      bodies +
      mails,
    counts: {
      mails,
      events: events.length,
      executions: executions.blanked,
      answers: answered,
      webhook_events: bodies,
    },
  }
}

/** Whether all that is walked over once was, but for counts by tag. */
const isWalked = ({ execution, answer, team, naming }: ErasePlace): boolean =>
  [execution, answer, team, naming].every((place) => place === ALL)

/**
 * Whether another kind than mail has pages left. To find mail that still goes to the team, or to others and names them, is to read all of
 * it. So once it was walked over, it is looked for on the pages alone that come when no other kind has any.
 */
const hasMoreToDo = ({ execution, answer, tag }: ErasePlace): boolean =>
  execution !== ALL || answer !== ALL || tag !== null

async function eraseEvents(
  deps: JobPageDeps,
  { workspace_id: workspaceId }: JobRow,
  events: Awaited<ReturnType<typeof listEventsOf>>,
): Promise<void> {
  await deleteEvents(deps.db, workspaceId, {
    ids: events.map(({ id }) => id),
    spent: events.flatMap(({ id, event_id }) =>
      id === event_id ? [] : eventIdHash(deps, workspaceId, event_id),
    ),
  })
}

/** Walks over the counts by tag by their keys, once. */
async function eraseTags(
  { db: trx }: JobPageDeps,
  { workspace_id: workspaceId }: JobRow,
  { email }: Whom,
  after: ErasePlace['tag'],
): Promise<{ looked: number; last: ErasePlace['tag']; isOver: boolean }> {
  if (!after) await blankTagChanges(trx, workspaceId, email)
  const { looked, last } = await blankTags(trx, workspaceId, email, { after, limit: TAGS_PAGE })
  const isOver = looked < TAGS_PAGE
  return { looked, last: isOver ? null : (last ?? after), isOver }
}
