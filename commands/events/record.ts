// Records an automation event, starts workflows and ends waits, in the caller's transaction.

import { updateContactProperties } from '../../db/contacts/writes.ts'
import { findRecordedEvent, type RecordedEventRow } from '../../db/events/reads.ts'
import type { EventReceivers } from '../../db/events/receivers.ts'
import {
  type Consequences,
  depthOf,
  insertConsequences,
  insertEvent,
  type NewAutomationEvent,
} from '../../db/events/writes.ts'
import { findKeptKeys } from '../../db/segments/kept.ts'
import { happenings } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { findJsonFault } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { mergeProperties } from '../../rules/properties/merge.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { type Changed, type Move, moveMembers } from '../segments/move.ts'
import type { InTrx } from '../transact.ts'
import { findReceivers, NOBODY } from './receivers.ts'

export type RecordDeps = InTrx<Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>>

export interface RecordedEvent {
  /** automation_events.id */
  id: string
  /** The caller's own id; without one the same as `id`. */
  eventId: string
  eventName: string
  email: string
  at: Date
  createdAt: Date
  contactId: string
  /** Executions that this event started, in order. */
  executionIds: string[]
  /**
   * True if this event_id was recorded before: the other fields are those of that event, and nothing was written.
   */
  deduplicated: boolean
}

/**
 * Another transaction recorded this event_id while this one ran. The caller rolls back and tries again, to read
 * that event.
 */
export class EventIdRace extends Error {}

/**
 * Locks the contact, counts and stores the event, starts matching workflows, ends waits for it, writes the
 * outbox, and moves the contact in and out of kept segments. An event that tells of the past starts nothing, ends no wait, and moves
 * silently.
 * @returns null if there is no such contact and none may be made. Only an event with contact properties or with an
 * event_id of the caller's can be refused; the caller must return the refusal, so that the transaction rolls back.
 * @throws EventIdRace
 */
export async function recordAutomationEvent(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  event: NewAutomationEvent,
): Promise<RecordedEvent | null | Refusal<'contact_properties_refused' | 'event_id_reused'>> {
  const { db: trx, newId } = deps
  const now = deps.now()
  const id = newId('automationEvent')
  const eventId = event.eventId ?? id
  const made = { id, eventId, contactId: newId('contact'), now }
  const stored = await insertEvent(trx, workspaceId, event, made)
  if (stored.prior_id) {
    const prior = await findRecordedEvent(trx, workspaceId, stored.prior_id)
    // Who does not know the event learns nothing of it by its id.
    const isSame = prior.event_name === event.eventName && prior.email === event.email
    return isSame ? toRecorded(prior) : refuse('event_id_reused', { eventId })
  }
  if (!stored.contact_id || !stored.properties || !stored.first_seen) return null
  if (!stored.inserted) throw new EventIdRace(eventId)

  const properties = mergeProperties(stored.properties, event.contactProperties ?? {})
  const changed = properties !== stored.properties
  const fault = changed ? findJsonFault(properties, limits.propertiesBytesMax) : null
  if (fault) {
    const facts = { field: 'contact_properties', text: fault.message } as const
    return refuse('contact_properties_refused', facts)
  }

  const contact = {
    id: stored.contact_id,
    firstSeen: stored.first_seen,
    properties,
    before: stored.properties,
    isNew: stored.is_new === true,
  }
  const executionIds = await carryOut(deps, workspaceId, event, { eventRowId: id, contact, now })
  return {
    id,
    eventId,
    eventName: event.eventName,
    email: event.email,
    at: event.at,
    createdAt: now,
    contactId: stored.contact_id,
    executionIds,
    deduplicated: false,
  }
}

/** Does what follows from an event that is stored. @returns the executions that it starts, in order */
async function carryOut(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  event: NewAutomationEvent,
  { eventRowId, contact, now }: Pick<Changed, 'contact' | 'now'> & { eventRowId: string },
): Promise<string[]> {
  const { db: trx } = deps
  const { email } = event
  const depth = depthOf(event)
  // A separate statement: only a snapshot that is taken under the lock shows every wait of this contact.
  const receivers = event.historical
    ? { ...NOBODY, segmentKeys: await findKeptKeys(trx, workspaceId) }
    : await findReceivers(trx, workspaceId, {
        ...event,
        contact,
        hmac: deps.addressMac(workspaceId, email),
        now,
      })
  const executionIds = await tellReceivers(deps, workspaceId, receivers, {
    eventRowId,
    contactId: contact.id,
    email,
    properties: contact.properties === contact.before ? null : contact.properties,
    depth,
    now,
  })
  const changed = { ...event, contact, now }
  const moves = await moveMembers(trx, workspaceId, receivers.segmentKeys, changed)
  if (!event.historical) await recordMoves(deps, workspaceId, moves, { ...event, depth })
  return executionIds
}

/** A change of a contact's properties that no event brought. */
export interface ContactChange {
  contactId: string
  /** In lower case. */
  email: string
  firstSeen: Date
  before: JsonObject
  after: JsonObject
  /** How many effects of executions led to it; 0: it came from outside. */
  depth: number
  /** The execution whose segment changes them: it has left its wait. */
  byExecution?: string
}

/**
 * Writes changed properties, starts the workflows that they trigger and ends the waits that look at them. The caller holds
 * the contact's lock.
 */
export async function recordContactChange(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  { contactId, email, firstSeen, before, after, depth, byExecution }: ContactChange,
): Promise<void> {
  if (after === before) return
  const now = deps.now()
  const changed: Changed = {
    eventName: null,
    email,
    properties: {},
    contact: { id: contactId, firstSeen, properties: after, before, isNew: false },
    now,
    at: null,
  }
  const receivers = await findReceivers(deps.db, workspaceId, {
    ...changed,
    hmac: deps.addressMac(workspaceId, email),
    byExecution,
  })
  await updateContactProperties(deps.db, workspaceId, contactId, after, now)
  const change = { eventRowId: null, contactId, email, properties: null, depth, now }
  await tellReceivers(deps, workspaceId, receivers, change)
  const moves = await moveMembers(deps.db, workspaceId, receivers.segmentKeys, changed)
  await recordMoves(deps, workspaceId, moves, { email, depth, byExecution })
}

/**
 * Records that a contact has entered and left segments, as events whose depth is one more than that of their cause. At the end of a
 * chain nothing is recorded.
 * @param cause without `depth`: time alone
 */
export async function recordMoves(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  moves: readonly Move[],
  {
    email,
    depth,
    byExecution,
  }: { email: string; depth?: number; byExecution?: string | undefined },
): Promise<void> {
  if (depth !== undefined && depth >= limits.executionChainMax) return
  for (const { segmentId, entered } of moves) {
    await recordAutomationEvent(deps, workspaceId, {
      eventId: null,
      eventName: entered ? happenings.segmentEntered : happenings.segmentLeft,
      email,
      properties: { segment_id: segmentId },
      at: deps.now(),
      contactProperties: null,
      createContact: false,
      ...(depth === undefined ? {} : { chainDepth: depth }),
      byExecution,
    })
  }
}

/** Writes what a change has as consequences. @returns the executions that it starts, in order */
async function tellReceivers(
  { db, newId, wake }: RecordDeps,
  workspaceId: WorkspaceId,
  { triggers, waits }: Pick<EventReceivers, 'triggers' | 'waits'>,
  change: Omit<Consequences, 'starts' | 'waits'>,
): Promise<string[]> {
  const starts =
    change.depth > limits.executionChainMax
      ? []
      : triggers.map((trigger) => ({ ...trigger, id: newId('execution') }))
  const tells = starts.length > 0 || waits.length > 0
  if (tells || change.properties !== null) {
    await insertConsequences(db, workspaceId, { ...change, starts, waits })
  }
  if (tells) wake('dripline_outbox')
  return starts.map(({ id }) => id)
}

/** The answer for an event that was recorded before. */
const toRecorded = (row: RecordedEventRow): RecordedEvent => ({
  id: row.id,
  eventId: row.event_id,
  eventName: row.event_name,
  email: row.email,
  at: row.at,
  createdAt: row.created_at,
  contactId: row.contact_id,
  executionIds: row.execution_ids,
  deduplicated: true,
})
