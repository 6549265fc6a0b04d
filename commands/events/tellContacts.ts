// Tells contacts of one workspace what became of mail to them: mail events leave the outbox as automation events.

import {
  type ClaimedMailEvent,
  claimMailEvents,
  lockMailEvents,
  takeMailEvents,
} from '../../db/deliveries/mailEventClaims.ts'
import { listAwaited } from '../../db/events/receivers.ts'
import { insertUnawaitedEvents } from '../../db/events/writes.ts'
import { putOffMailEvents, settleMailEvents } from '../../db/outbox.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import { type InTrx, inSavepoint, transact } from '../transact.ts'
import { recordMailEvent, toAutomationEvent } from './recordMail.ts'

/** Rows that a commit looks at first, and rows of one contact that it takes at most. */
const ROWS_MAX = 200
const PER_CONTACT_MAX = 20
/** Events that something waits for take some statements each; contacts are not held for longer than for so many. */
const AWAITED_MAX = 100
const MAIL_EVENT_PREFIX = 'email.'

export type TellDeps = Pick<CommandDeps, 'db' | 'now' | 'newId' | 'wake'>

export interface Told {
  /** Mail events that left the outbox. */
  told: number
  /** Mail events whose contact somebody holds: they were put off. */
  held: number
}

/**
 * Records the mail events of a workspace that have waited longest, in one commit: each contact's in their order, each
 * once. A contact whose row is locked is passed over, so nobody is waited for; a second caller finds nothing to do.
 * @param contactId this contact's alone, for after a failure
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
    const told = await record(inTrx, workspaceId, events, now, AWAITED_MAX)
    const doneIds = [...goneIds, ...told]
    if (doneIds.length + heldIds.length > 0) {
      await settleMailEvents(trx, workspaceId, { doneIds, heldIds }, now)
    }
    return { told: doneIds.length, held: heldIds.length }
  })
}

/** Most mail events are waited for by nobody: those of a commit are one statement. @returns ids of what was recorded */
async function record(
  deps: InTrx<TellDeps>,
  workspaceId: WorkspaceId,
  events: ClaimedMailEvent[],
  now: Date,
  awaitedMax: number,
): Promise<number[]> {
  if (events.length === 0) return []
  const awaited = await listAwaited(deps.db, workspaceId, events)
  const quiet = events.filter((event) => !awaited.has(event.contact_id))
  const rows = quiet.map((event) => {
    const { eventName, email, properties, at } = toAutomationEvent(
      { ...event, workspace_id: workspaceId },
      event,
    )
    const id = deps.newId('automationEvent')
    return { id, contact_id: event.contact_id, event_name: eventName, email, properties, at }
  })
  await insertUnawaitedEvents(deps.db, workspaceId, rows, now)
  const loud = events.filter((event) => awaited.has(event.contact_id)).slice(0, awaitedMax)
  for (const event of loud)
    await recordMailEvent(deps, { ...event, workspace_id: workspaceId }, event)
  return [...quiet, ...loud].map((event) => event.id)
}

/**
 * Records at once what a contact is to hear by that event's name, for who holds the contact's lock and is about to
 * decide whether it has come.
 * @returns false when it could not be recorded: it stays in the outbox, and the transaction goes on
 */
export async function tellLockedContact(
  deps: InTrx<TellDeps>,
  workspaceId: WorkspaceId,
  contactId: string,
  eventName: string,
): Promise<boolean> {
  if (!eventName.startsWith(MAIL_EVENT_PREFIX)) return true
  const wanted = { name: eventName.slice(MAIL_EVENT_PREFIX.length), limit: PER_CONTACT_MAX }
  return inSavepoint(deps.db, async () => {
    const events = await takeMailEvents(deps.db, workspaceId, contactId, wanted)
    await record(deps, workspaceId, events, deps.now(), events.length)
  })
}

/** Has what a contact is to hear wait, when it could not be recorded. */
export function putOffContact(
  deps: TellDeps,
  workspaceId: WorkspaceId,
  contactId: string,
  until: Date,
): Promise<void> {
  return transact.one(deps, ({ db }) => putOffMailEvents(db, workspaceId, contactId, until))
}
