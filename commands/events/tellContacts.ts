// Turns mail events of the outbox into automation events of their contacts, for one workspace.

import {
  type ClaimedMailEvent,
  claimMailEvents,
  lockMailEvents,
  takeMailEvents,
} from '../../db/deliveries/mailEventClaims.ts'
import { isLockTimeout, isRetryable } from '../../db/failures.ts'
import { putOffMailEvents, settleMailEvents } from '../../db/outbox.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { type InTrx, inSavepoint, transact } from '../transact.ts'
import { recordMailEvents } from './recordMail.ts'

/** Rows that a commit reads, and the most rows of one contact. */
const ROWS_MAX = 200
const PER_CONTACT_MAX = 20
/**
 * An awaited event takes several statements. A commit records at most so many, so that it does not lock contacts
 * for long.
 */
const AWAITED_MAX = 100
const MAIL_EVENT_PREFIX = 'email.'

export type TellDeps = Pick<CommandDeps, 'db' | 'now' | 'newId' | 'wake' | 'addressMac'>

export interface Told {
  /** Mail events that left the outbox. */
  told: number
  /** Mail events that were put off because another transaction holds the contact's lock. */
  held: number
}

/**
 * Records the oldest due mail events of a workspace in one commit, those of a contact in their order. Contacts
 * that are locked are skipped. A second caller at the same time finds nothing to do.
 * @param contactId only the events of this contact, for use after a failure
 */
export function tellContacts(
  deps: TellDeps,
  workspaceId: WorkspaceId,
  contactId: string | null = null,
): Promise<Told> {
  return transact(deps, async (inTrx) => {
    const { db: trx } = inTrx
    if (!(await lockMailEvents(trx, workspaceId))) return { told: 0, held: 0 }
    const now = deps.now()
    const { events, goneIds, heldIds } = await claimMailEvents(trx, workspaceId, {
      now,
      rows: ROWS_MAX,
      perContact: PER_CONTACT_MAX,
      contactId,
    })
    const told = await record(inTrx, workspaceId, events, AWAITED_MAX)
    const doneIds = [...goneIds, ...told]
    if (doneIds.length + heldIds.length > 0) {
      await settleMailEvents(trx, workspaceId, { doneIds, heldIds }, now)
    }
    return { told: doneIds.length, held: heldIds.length }
  })
}

/** @returns outbox ids of recorded events */
async function record(
  deps: InTrx<TellDeps>,
  workspaceId: WorkspaceId,
  events: ClaimedMailEvent[],
  awaitedMax: number,
  byExecution?: string,
): Promise<number[]> {
  const given = events.map((event) => ({ ...event, byExecution }))
  const recorded = await recordMailEvents(deps, workspaceId, given, awaitedMax)
  return recorded.map(({ id }) => id)
}

/** `some`: there may be more. `none`: of a name at least none could be recorded; they stay in the outbox, and the transaction can go on. */
export type ToldOfMail = 'all' | 'some' | 'none'

/**
 * Records a contact's mail events of these names at once, as many as a commit of awaited ones may have: that which decides may stand behind
 * others, such as the clicks of a scanner on each link. The caller holds the contact's lock and is about to decide whether such an event has
 * happened. Where it gets `some` it commits these before it asks again, and decides after that.
 * @param byExecution the execution that decides, if it has left its wait
 * @throws what Postgres says where another try may record them: they were waited for too long (55P03), or a deadlock was found
 */
export async function tellLockedContact(
  deps: InTrx<TellDeps>,
  workspaceId: WorkspaceId,
  contactId: string,
  eventNames: readonly string[],
  byExecution?: string,
): Promise<ToldOfMail> {
  const ofMail = new Set(eventNames.filter((name) => name.startsWith(MAIL_EVENT_PREFIX)))
  const names = [...ofMail].map((name) => name.slice(MAIL_EVENT_PREFIX.length))
  if (names.length === 0) return 'all'
  const tell = (some: string[]) => tellNamed(deps, workspaceId, contactId, some, byExecution)
  const told = await tell(names)
  if (told !== 'none' || names.length === 1) return told
  // One that cannot be recorded keeps none of another name.
  for (const name of names) if ((await tell([name])) === 'some') return 'some'
  return 'none'
}

const mayBeRecordedLater = (err: unknown): boolean => isRetryable(err) || isLockTimeout(err)

/** All of these, or none where one of them cannot be recorded. */
async function tellNamed(
  deps: InTrx<TellDeps>,
  workspaceId: WorkspaceId,
  contactId: string,
  names: string[],
  byExecution: string | undefined,
): Promise<ToldOfMail> {
  const wanted = { names, limit: PER_CONTACT_MAX }
  let hasMore = true
  const work = async () => {
    for (let told = 0; hasMore && told < AWAITED_MAX; ) {
      const events = await takeMailEvents(deps.db, workspaceId, contactId, wanted)
      await record(deps, workspaceId, events, events.length, byExecution)
      told += events.length
      hasMore = events.length === wanted.limit
    }
  }
  if (!(await inSavepoint(deps.db, work, mayBeRecordedLater))) return 'none'
  return hasMore ? 'some' : 'all'
}

/** Puts off the mail events of a contact that could not be recorded. */
export function putOffContact(
  deps: TellDeps,
  workspaceId: WorkspaceId,
  contactId: string,
  until: Date,
): Promise<void> {
  return transact.one(deps, ({ db }) => putOffMailEvents(db, workspaceId, contactId, until))
}
