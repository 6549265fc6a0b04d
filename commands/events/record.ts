// Records an automation event, starts workflows and ends waits, in the caller's transaction.
// Long because what follows from an event may record further ones: all of it is one circle.

import { updateContactProperties } from '../../db/contacts/writes.ts'
import { findRecordedEvent, type RecordedEventRow } from '../../db/events/reads.ts'
import type { ArrivedEvent, EventReceivers } from '../../db/events/receivers.ts'
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
import { type Changed, type Move, moveEach, moveMembers } from '../segments/move.ts'
import type { InTrx } from '../transact.ts'
import { findReceivers, listReceivers, NOBODY } from './receivers.ts'

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
  /** Whether something might start or wake by it (`EventReceivers`). */
  isAwaited: boolean
}

/**
 * Another transaction recorded this event_id while this one ran. The caller rolls back and tries again, to read
 * that event.
 */
export class EventIdRace extends Error {}

/** Tries of a commit that lost a race for an event_id. The next try finds the recorded event. */
const RACE_TRIES = 3

/** Commits, and again where an event_id was lost to another transaction. @param commit opens a transaction of its own */
export async function retryRace<T>(commit: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await commit()
    } catch (err) {
      if (!(err instanceof EventIdRace) || tries >= RACE_TRIES) throw err
    }
  }
}

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
  const idHash = event.eventId === null ? null : eventIdHash(deps, workspaceId, event.eventId)
  const made = { id, eventId, contactId: newId('contact'), now, idHash }
  const stored = await insertEvent(trx, workspaceId, event, made)
  if (stored.prior_id) {
    const prior = await findRecordedEvent(trx, workspaceId, stored.prior_id)
    // Its contact is being erased: the next try finds the hash of its id.
    if (!prior) throw new EventIdRace(eventId)
    // Who does not know the event learns nothing of it by its id.
    const isSame = prior.event_name === event.eventName && prior.email === event.email
    return isSame ? toRecorded(prior) : refuse('event_id_reused', { eventId })
  }
  // What it was is gone; it starts nothing, and makes no contact.
  if (stored.is_spent) return spentEvent(event, { id, eventId, now })
  if (!stored.contact_id || !stored.properties || !stored.first_seen) return null
  if (!stored.inserted) throw new EventIdRace(eventId)
  const contact = {
    id: stored.contact_id,
    properties: stored.properties,
    firstSeen: stored.first_seen,
    isNew: stored.is_new === true,
  }
  const [recorded] = await recordStored(deps, workspaceId, [{ event, id, eventId, now, contact }])
  return recorded ?? null
}

/** By what the caller's own id of an event is known once its contact was erased. It has no `@`, so it is that of no address. */
export const eventIdHash = (
  { addressMac }: Pick<RecordDeps, 'addressMac'>,
  workspaceId: WorkspaceId,
  eventId: string,
): Buffer => addressMac(workspaceId, `event ${Buffer.from(eventId).toString('hex')}`)

/** The answer for an event whose contact was erased since it was recorded. */
const spentEvent = (
  { eventName, email, at }: NewAutomationEvent,
  { id, eventId, now }: { id: string; eventId: string; now: Date },
): RecordedEvent => ({
  id,
  eventId,
  eventName,
  email,
  at,
  createdAt: now,
  contactId: '',
  executionIds: [],
  deduplicated: true,
  isAwaited: false,
})

/** An event that was stored just now, under the lock of its contact. */
interface StoredArrival {
  event: NewAutomationEvent
  /** automation_events.id */
  id: string
  eventId: string
  now: Date
  /** As it was when the event came. */
  contact: { id: string; properties: JsonObject; firstSeen: Date; isNew: boolean }
}

/**
 * Does what follows from stored events, no two of which are of the same contact: changes properties, starts workflows, ends waits
 * and writes the outbox. One that is refused has no consequences; the caller rolls back.
 */
export async function recordStored(
  deps: RecordDeps,
  workspaceId: WorkspaceId,
  arrivals: readonly StoredArrival[],
): Promise<(RecordedEvent | Refusal<'contact_properties_refused'>)[]> {
  const merged = arrivals.map(({ event, contact }) => {
    if (event.contactProperties === null) return { properties: contact.properties, fault: null }
    const properties = mergeProperties(contact.properties, event.contactProperties)
    return { properties, fault: properties === contact.properties ? null : faultOf(properties) }
  })
  const fit = arrivals.flatMap(({ event, id, now, contact: before }, place) => {
    const { properties = {}, fault } = merged[place] ?? {}
    const { id: contactId, firstSeen, isNew } = before
    const contact = { id: contactId, firstSeen, isNew, properties, before: before.properties }
    return fault ? [] : [{ event, id, now, place, contact }]
  })
  const awake = fit.filter(({ event }) => !event.historical)
  // A separate statement: only a snapshot that is taken under the lock shows every wait of these contacts.
  const found = await listReceivers(
    deps.db,
    workspaceId,
    awake.map((one) => toArrived(one, () => deps.addressMac(workspaceId, one.event.email))),
  )
  // The past changes who is in a segment, and nobody hears of it.
  const ofPast: EventReceivers | null =
    awake.length < fit.length
      ? { ...NOBODY, segmentKeys: await findKeptKeys(deps.db, workspaceId) }
      : null
  const receivers = new Map(awake.map(({ place }, i) => [place, found[i] ?? NOBODY]))
  const receiversOf = (place: number) => receivers.get(place) ?? ofPast ?? NOBODY
  const told = fit.filter(({ place, contact }) => {
    const { triggers, waits } = receiversOf(place)
    return triggers.length + waits.length > 0 || contact.properties !== contact.before
  })
  const started = await tellReceivers(
    deps,
    workspaceId,
    told.map((one) => toChange(one, receiversOf(one.place))),
  )
  for (const keys of new Set(fit.map(({ place }) => receiversOf(place).segmentKeys))) {
    if (keys === null) continue
    const looked = fit.filter(({ place }) => receiversOf(place).segmentKeys === keys)
    const changes = looked.map(({ event, contact, now }) => ({ ...event, contact, now }))
    const moves = await moveEach(deps.db, workspaceId, keys, changes)
    for (const [i, { event }] of looked.entries()) {
      if (event.historical) continue
      await recordMoves(deps, workspaceId, moves[i] ?? [], { ...event, depth: depthOf(event) })
    }
  }
  const executionIds = new Map(told.map(({ place }, i) => [place, started[i] ?? []]))
  return arrivals.map(
    (arrival, place) =>
      merged[place]?.fault ??
      toNewlyRecorded(arrival, arrival.contact.id, {
        executionIds: executionIds.get(place) ?? [],
        isAwaited: receiversOf(place).isAwaited,
      }),
  )
}

/** What an event and its properties mean for those whom it concerns. */
const toChange = (
  {
    event,
    id,
    contact,
    now,
  }: Pick<StoredArrival, 'event' | 'id' | 'now'> & { contact: ArrivedEvent['contact'] },
  { triggers, waits }: EventReceivers,
) => ({
  triggers,
  waits,
  eventRowId: id,
  contactId: contact.id,
  email: event.email,
  properties: contact.properties === contact.before ? null : contact.properties,
  depth: depthOf(event),
  now,
})

/** Written out: to copy whole events was a tenth of what one of many costs. */
const toArrived = (
  {
    event,
    contact,
    now,
  }: { event: NewAutomationEvent; contact: ArrivedEvent['contact']; now: Date },
  hmac: ArrivedEvent['hmac'],
): ArrivedEvent => ({
  eventName: event.eventName,
  email: event.email,
  properties: event.properties,
  contact,
  hmac,
  now,
  byExecution: event.byExecution,
})

function faultOf(properties: JsonObject): Refusal<'contact_properties_refused'> | null {
  const fault = findJsonFault(properties, limits.propertiesBytesMax)
  if (!fault) return null
  return refuse('contact_properties_refused', {
    field: 'contact_properties',
    text: fault.message,
  } as const)
}

/** The answer for an event that was recorded now. */
export const toNewlyRecorded = (
  { event, id, eventId, now }: Omit<StoredArrival, 'contact'>,
  contactId: string,
  { executionIds, isAwaited }: Pick<RecordedEvent, 'executionIds' | 'isAwaited'>,
): RecordedEvent => ({
  id,
  eventId,
  eventName: event.eventName,
  email: event.email,
  at: event.at,
  createdAt: now,
  contactId,
  executionIds,
  deduplicated: false,
  isAwaited,
})

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
    hmac: () => deps.addressMac(workspaceId, email),
    byExecution,
  })
  await updateContactProperties(deps.db, workspaceId, contactId, after, now)
  const change = { eventRowId: null, contactId, email, properties: null, depth, now }
  await tellReceivers(deps, workspaceId, [{ ...receivers, ...change }])
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

/** What changes have as consequences, no two of the same contact. @returns the executions that each starts, in order */
async function tellReceivers(
  { db, newId, wake }: RecordDeps,
  workspaceId: WorkspaceId,
  changes: readonly (Pick<EventReceivers, 'triggers' | 'waits'> &
    Omit<Consequences, 'starts' | 'waits'>)[],
): Promise<string[][]> {
  const consequences = changes.map((change) => ({
    eventRowId: change.eventRowId,
    contactId: change.contactId,
    email: change.email,
    properties: change.properties,
    waits: change.waits,
    depth: change.depth,
    now: change.now,
    starts:
      change.depth > limits.executionChainMax
        ? []
        : change.triggers.map((trigger) => ({ ...trigger, id: newId('execution') })),
  }))
  const tells = ({ starts, waits }: Pick<Consequences, 'starts' | 'waits'>) =>
    starts.length > 0 || waits.length > 0
  const effective = consequences.filter((one) => tells(one) || one.properties !== null)
  if (effective.length > 0) await insertConsequences(db, workspaceId, effective)
  if (effective.some(tells)) wake('dripline_outbox')
  return consequences.map(({ starts }) => starts.map(({ id }) => id))
}

/** The answer for an event that was recorded before. */
const toRecorded = (row: NonNullable<RecordedEventRow>): RecordedEvent => ({
  id: row.id,
  eventId: row.event_id,
  eventName: row.event_name,
  email: row.email,
  at: row.at,
  createdAt: row.created_at,
  contactId: row.contact_id,
  executionIds: row.execution_ids,
  deduplicated: true,
  isAwaited: false,
})
