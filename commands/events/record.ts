// Records an automation event and all that follows from it, inside the caller's transaction.
import type { Trx } from '../../db/connect.ts'
import { insertConsequences, insertEvent, type NewAutomationEvent } from '../../db/events/writes.ts'
import type { NewId } from '../../rules/ids.ts'
import { findJsonFault } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { mergeProperties } from '../../rules/properties/merge.ts'
import { findReceivers } from './receivers.ts'

export interface RecordedEvent {
  /** automation_events.id */
  id: string
  /** The caller's own id, or `id`. */
  eventId: string
  eventName: string
  email: string
  at: Date
  createdAt: Date
  contactId: string
  /** Executions that this event started, in order. */
  executionIds: string[]
  /** True when the same event_id was recorded before: all else is that event's, and nothing was written. */
  deduplicated: boolean
  /** The starter has something to carry: wake it after the commit. */
  wroteOutbox: boolean
}

/** Another transaction recorded this event_id while this one ran: roll back and try again, to read its answer. */
export class EventIdRace extends Error {}

/** The contact's properties would become too large or too deep: roll back. */
export class PropertiesRefused extends Error {}

/** Executions that lead to each other by the mail they send end here, so that no loop runs for ever. */
const CHAIN_DEPTH_MAX = 10

/**
 * Counts the event for its contact (whose row it locks first), stores it, starts matching workflows, ends waits on
 * it and writes the outbox. @returns null when there is no such contact and none may be made
 * @throws EventIdRace, PropertiesRefused
 */
export async function recordAutomationEvent(
  trx: Trx,
  { newId, now }: { newId: NewId; now: Date },
  event: NewAutomationEvent,
): Promise<RecordedEvent | null> {
  const id = newId('automationEvent')
  const eventId = event.eventId ?? id
  const stored = await insertEvent(trx, event, { id, eventId, contactId: newId('contact'), now })
  if (stored.prior_id) return findRecorded(trx, stored.prior_id)
  if (!stored.contact_id || !stored.properties || !stored.first_seen) return null
  if (!stored.inserted) throw new EventIdRace(eventId)

  const properties = mergeProperties(stored.properties, event.contactProperties ?? {})
  const changed = properties !== stored.properties
  const fault = changed ? findJsonFault(properties, limits.propertiesBytesMax) : null
  if (fault) throw new PropertiesRefused(`contact_properties: with these, ${fault.message}`)

  // A statement of its own: only now, with the lock held, does its snapshot show every wait of this contact.
  const receivers = await findReceivers(trx, {
    ...event,
    contact: { id: stored.contact_id, firstSeen: stored.first_seen, properties },
    now,
  })
  const depth = event.chainDepth === undefined ? 0 : event.chainDepth + 1
  const starts =
    depth > CHAIN_DEPTH_MAX
      ? []
      : receivers.triggers.map((trigger) => ({ ...trigger, id: newId('execution') }))
  const wroteOutbox = starts.length > 0 || receivers.waits.length > 0
  if (wroteOutbox || changed) {
    await insertConsequences(trx, event, {
      eventRowId: id,
      contactId: stored.contact_id,
      properties: changed ? properties : null,
      starts,
      waits: receivers.waits,
      depth,
      now,
    })
  }
  return {
    id,
    eventId,
    eventName: event.eventName,
    email: event.email,
    at: event.at,
    createdAt: now,
    contactId: stored.contact_id,
    executionIds: starts.map((start) => start.id),
    deduplicated: false,
    wroteOutbox,
  }
}

/** What was answered when this event was recorded. */
async function findRecorded(trx: Trx, id: string): Promise<RecordedEvent> {
  const row = await trx
    .selectFrom('automation_events')
    .select(['event_id', 'event_name', 'email', 'at', 'created_at', 'contact_id'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const executions = await trx
    .selectFrom('executions')
    .select('id')
    .where('trigger_event_id', '=', id)
    .orderBy('id')
    .execute()
  return {
    id,
    eventId: row.event_id,
    eventName: row.event_name,
    email: row.email,
    at: row.at,
    createdAt: row.created_at,
    contactId: row.contact_id,
    executionIds: executions.map((execution) => execution.id),
    deduplicated: true,
    wroteOutbox: false,
  }
}
