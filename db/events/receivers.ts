// Finds triggers of active workflows and open waits of a contact for an event.

import { sql } from 'kysely'
import { happenings } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { WaitEndedBy } from '../../rules/wire.ts'
import type { Trx } from '../connect.ts'
import type { JsonObject } from '../schema.ts'
import { unseen } from '../unseen.ts'
import { type Arrived, type Concerned, findConcerned, type WaitRow } from './concerned.ts'
import { lookFor } from './lookFor.ts'
import { listTriggers, type TriggerRow } from './triggers.ts'

export interface EventReceivers {
  /** At most one for each workflow. */
  triggers: {
    workflow_id: string
    node_id: string
    version: number
    /** What conditions read as `event.*` where no stored event started it; null: the event. */
    properties: JsonObject | null
  }[]
  waits: EndedWait[]
  /** Of the segments whose members are kept (`keptKeys`). */
  segmentKeys: string | null
  /** Whether something begins at the name, its contact waits, or segments are kept, whatever their conditions say. */
  isAwaited: boolean
}

/** A wait and what ends it, or that it is to be looked at. */
export interface EndedWait extends WaitEffect {
  execution_id: string
  workflow_id: string
  segment: number
  node_id: string
}

/** What something that happens to a contact does to a wait. */
export interface WaitEffect {
  /** `moved`: the property that its time came from has changed, so its node is asked again. Null: it goes on. */
  ended_by: 'event' | WaitEndedBy | null
  /** The goal, if one ended it. */
  leads_to: string | null
  /** When a rule of time may turn, where it goes on and that is sooner than it would have been looked at; null: it is not. */
  turns_at: Date | null
}

/** What has happened to a contact: an event, or another change. */
export interface ArrivedEvent extends Arrived {
  email: string
  /** Of the event. */
  properties: JsonObject
  contact: {
    id: string
    firstSeen: Date
    properties: JsonObject
    /** The properties before; the same object when they did not change. */
    before: JsonObject
    /** Whether it was made now. */
    isNew: boolean
  }
  now: Date
}

export interface Candidates {
  triggers: readonly TriggerRow[]
  waits: WaitRow[]
  /** Of the kept segments, as `keptKeys` gives them. */
  segmentKeys: string | null
}

/**
 * Finds for each of these the triggers of that name, and the waits for it or for any change. Their filters are not evaluated
 * here, and triggers of workflows that the contact has left are not returned. Most events start nothing and their contacts wait for
 * nothing: one small statement tells those.
 */
export async function listCandidates(
  trx: Trx,
  workspaceId: WorkspaceId,
  events: readonly ArrivedEvent[],
): Promise<Candidates[]> {
  const named = new Map<string, string[]>()
  const namesOf = events.map((event) => happeningNames(event, named))
  const looked = await lookFor(
    trx,
    workspaceId,
    events.map(({ contact, eventName }) => ({ contactId: contact.id, eventName })),
    namesOf,
  )
  const concerned = events.flatMap((event, place) => {
    const names = namesOf[place] ?? []
    const key = looked.keyOf(names)
    return key === null && !looked.waiting.has(event.contact.id)
      ? []
      : [{ event, place, names, key }]
  })
  const found = await findConcerned(
    trx,
    workspaceId,
    concerned.map(({ event }) => event),
  )
  const triggers = await listTriggers(
    trx,
    workspaceId,
    // Who has left all workflows needs no triggers.
    concerned.map(({ names, key }, i) => ({
      names,
      key: found[i]?.left_ids.includes(null) ? null : key,
    })),
  )
  const { segmentKeys } = looked
  // Of most events: nothing is added to it.
  const nothing: Candidates = { triggers: [], waits: [], segmentKeys }
  const candidates = events.map(() => nothing)
  for (const [i, { place }] of concerned.entries()) {
    const one = found[i]
    if (!one) continue
    const { left_ids, waits } = one
    candidates[place] = { triggers: butLeft(triggers[i] ?? [], left_ids), waits, segmentKeys }
  }
  return candidates
}

/** Without those of workflows that the contact has left. */
const butLeft = (
  triggers: readonly TriggerRow[],
  leftIds: Concerned['left_ids'],
): readonly TriggerRow[] =>
  leftIds.length === 0
    ? triggers
    : triggers.filter(({ workflow_id }) => !leftIds.includes(workflow_id))

/**
 * The names of triggers that what has happened may fire.
 * @param named the lists of those that are an event and nothing else, by its name: many events share one
 */
function happeningNames(
  { eventName, contact }: ArrivedEvent,
  named: Map<string, string[]>,
): string[] {
  const isChanged = contact.properties !== contact.before
  if (eventName !== null && !contact.isNew && !isChanged) {
    const known = named.get(eventName) ?? [eventName]
    named.set(eventName, known)
    return known
  }
  return [
    ...(eventName === null ? [] : [eventName]),
    ...(contact.isNew ? [happenings.contactCreated] : []),
    ...(isChanged ? [happenings.propertyChanged] : []),
  ]
}

/**
 * The contacts with a trigger or an open wait for their event, or a kept segment that counts such events. A trigger and a segment of
 * the workspace count for every contact.
 */
export async function listAwaited(
  trx: Trx,
  workspaceId: WorkspaceId,
  events: readonly { contact_id: string; name: string }[],
): Promise<Set<string>> {
  const { rows } = await sql<{ contact_id: string }>`
    with given (contact_id, name) as (
      select * from unnest(${unseen(sql`${events.map((event) => event.contact_id)}::text[]`)},
        ${unseen(sql`${events.map((event) => `email.${event.name}`)}::text[]`)})
    )
    select distinct contact_id from given e
    where exists (select from workflow_triggers t
        where t.workspace_id = ${workspaceId} and t.event_name = e.name)
      or exists (select from segments s
        where s.workspace_id = ${workspaceId} and s.kept and e.name = any(s.event_names))
      or exists (select from event_waits w
        where w.contact_id = e.contact_id and (w.event_name = e.name or w.watched)
          and w.consumed_by is null and w.ended_by is null)
  `.execute(trx)
  return new Set(rows.map((row) => row.contact_id))
}
