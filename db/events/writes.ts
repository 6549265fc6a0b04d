// Writes automation events and their consequences, in one statement each.
// Long because a statement stands whole, with all of its parts.

import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { isFoundLive } from '../executions/live.ts'
import { outboxRows } from '../outbox.ts'
import type { JsonObject } from '../schema.ts'
import type { EventReceivers } from './receivers.ts'

export interface NewAutomationEvent {
  /** The caller's own id: an event with the same id is recorded only once. null: none was given. */
  eventId: string | null
  eventName: string
  /** Lower case. */
  email: string
  properties: JsonObject
  at: Date
  /** Deep-merged into the contact's; null when there are none. */
  contactProperties: JsonObject | null
  /** False: nothing is written for an address that is no contact. */
  createContact: boolean
  /** chain_depth of the execution that caused it, by its mail or a node; absent where none did. */
  chainDepth?: number
  /** The execution whose segment records it: it has left its wait. */
  byExecution?: string | undefined
  /** It tells of the past: it is counted, and starts and wakes nothing. Absent: it does not. */
  historical?: boolean
}

interface StoredEvent {
  prior_id: string | null
  /** Whether the event_id was recorded for a contact who was erased. */
  is_spent: boolean
  /** Whether the contact was made by it. */
  is_new: boolean | null
  contact_id: string | null
  properties: JsonObject | null
  first_seen: Date | null
  inserted: string | null
}

/**
 * Assignments of an update of `contacts` that count events: their number, first and last time, and the last name.
 */
export const counted = (
  events: Record<'count' | 'first' | 'last' | 'name', RawBuilder<unknown>>,
  now: Date | RawBuilder<unknown>,
) => sql`
    event_count = contacts.event_count + ${events.count},
    first_seen = least(contacts.first_seen, ${events.first}),
    last_seen = greatest(contacts.last_seen, ${events.last}),
    last_event = case when ${events.last} >= contacts.last_seen then ${events.name}
      else contacts.last_event end,
    updated_at = ${now}`

/** The depth of an event: one more than that of the execution that caused it; 0 if none did. */
export const depthOf = ({ chainDepth }: Pick<NewAutomationEvent, 'chainDepth'>): number =>
  chainDepth === undefined ? 0 : chainDepth + 1

/** Writes contact and event in one statement. Neither is written if the event_id was recorded before. */
export async function insertEvent(
  trx: Trx,
  workspaceId: WorkspaceId,
  event: NewAutomationEvent,
  made: { id: string; eventId: string; contactId: string; now: Date; idHash: Buffer | null },
): Promise<StoredEvent> {
  const { email, eventName, at } = event
  const unknown =
    event.eventId === null
      ? sql`true`
      : sql`not exists (select from prior) and not exists (select from spent)`
  const countOne = (time: RawBuilder<unknown>, name: RawBuilder<unknown>) =>
    counted({ count: sql`1`, first: time, last: time, name }, made.now)
  const contact = event.createContact
    ? sql`insert into contacts (id, workspace_id, email, event_count, first_seen, last_seen,
          last_event, created_at, updated_at)
        select ${made.contactId}, ${workspaceId}, ${email}, 1, ${at}::timestamptz,
          ${at}::timestamptz, ${eventName}, ${made.now}::timestamptz, ${made.now}::timestamptz
        where ${unknown}
        on conflict (workspace_id, email) do update set
          ${countOne(sql`excluded.last_seen`, sql`excluded.last_event`)}`
    : sql`update contacts set ${countOne(sql`${at}::timestamptz`, sql`${eventName}`)}
        where workspace_id = ${workspaceId} and email = ${email} and ${unknown}`
  const { rows } = await sql<StoredEvent>`
    with prior as (
      select id from automation_events
      where ${event.eventId !== null} and workspace_id = ${workspaceId} and event_id = ${made.eventId}
    ), spent as (select from spent_event_ids where workspace_id = ${workspaceId} and id_hash = ${made.idHash}
    ), contact as (
      ${contact} returning contacts.id, contacts.properties, contacts.first_seen, contacts.event_count, ${
        event.createContact ? sql`xmax = 0` : sql`false`
      } as is_new
    ), event as (
      insert into automation_events (id, workspace_id, contact_id, event_id, event_name, email,
        properties, at, created_at, depth, historical, ordinal)
      select ${made.id}, ${workspaceId}, contact.id, ${made.eventId}, ${eventName}, ${email},
        ${JSON.stringify(event.properties)}::jsonb, ${at}::timestamptz, ${made.now}::timestamptz, ${depthOf(event)}::smallint,
        ${event.historical === true}::boolean, contact.event_count
      from contact
      on conflict (workspace_id, event_id) do nothing returning id
    )
    select prior.id as prior_id, exists (select from spent) as is_spent, contact.id as contact_id, contact.properties, contact.first_seen,
      contact.is_new,
      event.id as inserted
    from (values (1)) as one
    left join prior on true left join contact on true left join event on true
  `.execute(trx)
  const [row] = rows
  if (!row) throw new Error('an event was answered by no row')
  return row
}

/**
 * How many events have been counted for a contact whose lock the transaction holds: what an execution that starts now has before it. The
 * workspace is named, since a plan that is made while there are few contacts may read an index that begins with it.
 */
export const eventsOf = (workspaceId: WorkspaceId, contactId: RawBuilder<unknown>) =>
  sql`(select c.event_count from contacts c where c.workspace_id = ${workspaceId} and c.id = ${contactId})`

/** An automation event that no trigger and no wait is interested in. */
interface UnawaitedEvent {
  id: string
  contact_id: string
  event_name: string
  /** The contact's address, in lower case. */
  email: string
  properties: JsonObject
  at: Date
  depth: number
}

/** Stores such events and counts them for their contacts, whose locks the caller holds. */
export async function insertUnawaitedEvents(
  trx: Trx,
  workspaceId: WorkspaceId,
  events: readonly UnawaitedEvent[],
  now: Date,
): Promise<void> {
  if (events.length === 0) return
  const each = { count: sql`n.count`, first: sql`n.first`, last: sql`n.last`, name: sql`n.name` }
  // Their ids stand in an array too: Postgres takes any JSON for a hundred rows, and would rather read some thousand contacts.
  const contactIds = [...new Set(events.map((event) => event.contact_id))]
  await sql`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as g (id text,
        contact_id text, event_name text, email text, properties jsonb, at timestamptz(3), depth smallint)
    ), counted as (
      update contacts set ${counted(each, now)}
      from (
        select contact_id, count(*) as count, min(at) as first, max(at) as last,
          (array_agg(event_name order by at desc, id desc))[1] as name
        from given group by contact_id
      ) n where contacts.id = any(${contactIds}::text[]) and contacts.id = n.contact_id
        and contacts.workspace_id = ${workspaceId}
      returning contacts.id, contacts.event_count - n.count as count_before
    )
    insert into automation_events (id, workspace_id, contact_id, event_id, event_name, email,
      properties, at, created_at, depth, ordinal)
    select g.id, ${workspaceId}, g.contact_id, g.id, g.event_name, g.email, g.properties, g.at,
      ${now}::timestamptz, g.depth, c.count_before + row_number() over (partition by g.contact_id order by g.id)
    from given g left join counted c on c.id = g.contact_id
  `.execute(trx)
}

export interface Consequences {
  /** automation_events.id; null: it was no event. */
  eventRowId: string | null
  contactId: string
  /** The contact's address, in lower case. */
  email: string
  /** null: unchanged. */
  properties: JsonObject | null
  starts: (EventReceivers['triggers'][number] & { id: string })[]
  waits: EventReceivers['waits']
  depth: number
  now: Date
}

/**
 * Writes the executions that events start, the waits that they end or whose executions are to look at them, the changed properties
 * of their contacts, and the outbox. No two are of the same contact. An execution is locked before its waits, as in a cancellation.
 */
export async function insertConsequences(
  trx: Trx,
  workspaceId: WorkspaceId,
  consequences: readonly Consequences[],
): Promise<void> {
  const { given, starts, waits, changed, waiting } = rowsOf(consequences)
  await sql`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as g(event_row_id text, contact_id text,
        email text, properties jsonb, depth smallint, at timestamptz)
    ), merged as (
      update contacts set properties = g.properties from given g
      where contacts.id = any(${changed}::text[]) and contacts.workspace_id = ${workspaceId}
        and g.contact_id = contacts.id
    ), started as (
      insert into executions (id, workspace_id, workflow_id, version, contact_id, email,
        trigger_node_id, trigger_event_id, properties, chain_depth, created_at, updated_at, events_before)
      select s.id, ${workspaceId}, s.workflow_id, s.version, g.contact_id, g.email, s.node_id,
        case when s.properties is null then g.event_row_id end, s.properties, g.depth, g.at, g.at, ${eventsOf(workspaceId, sql`g.contact_id`)}
      from given g join jsonb_to_recordset(${JSON.stringify(starts)}::jsonb)
        as s(id text, contact_id text, workflow_id text, version int, node_id text, properties jsonb)
        on s.contact_id = g.contact_id
      returning id, workflow_id, contact_id, created_at as at
    ), waiting as (
      select x.id from executions x
      where x.workspace_id = ${workspaceId} and ${isFoundLive('x')} and x.id = any(${waiting}::text[])
      order by x.id for no key update
    ), consumed as (
      ${endWaits(workspaceId, waits, waiting)}
    ), deepened as (
      update executions x set chain_depth = case when c.depth = 0 then 0
          else greatest(x.chain_depth, c.depth) end
      from consumed c where x.id = any(${waiting}::text[]) and x.id = c.execution_id
        and x.workspace_id = ${workspaceId} and x.chain_depth <> c.depth and c.is_over
    )
    ${outboxRows(
      sql`
      select kind, execution_id, ${workspaceId} as workspace_id, workflow_id, contact_id, payload, at
      from (
        select 'start' as kind, id as execution_id, workflow_id, contact_id, '{}'::jsonb as payload, at
        from started
        union all
        select 'signal', execution_id, workflow_id, contact_id,
          jsonb_build_object('segment', segment, 'eventId', event_row_id), at from consumed
      ) as each`,
      sql`at`,
    )}
  `.execute(trx)
}

/** The update of the waits that end or are to be looked at, of the executions of `waiting`, which are locked. */
const endWaits = (
  workspaceId: WorkspaceId,
  waits: ReturnType<typeof rowsOf>['waits'],
  executionIds: readonly string[],
) => sql`update event_waits w set
        consumed_by = case when k.ended_by = 'event' then g.event_row_id end,
        ended_by = case when k.ended_by <> 'event' then k.ended_by end,
        ended_with = case when k.ended_by in ('condition', 'goal') then g.event_row_id end, leads_to = k.leads_to,
        deadline = coalesce(k.turns_at, w.deadline)
      from waiting join jsonb_to_recordset(${JSON.stringify(waits)}::jsonb)
        as k(execution_id text, contact_id text, workflow_id text, segment int, node_id text, ended_by text, leads_to text,
          turns_at timestamptz)
        on k.execution_id = waiting.id
        join given g on g.contact_id = k.contact_id
      where w.workspace_id = ${workspaceId} and w.execution_id = any(${executionIds}::text[])
        and w.execution_id = k.execution_id
        and w.segment = k.segment and w.node_id = k.node_id and w.consumed_by is null and w.ended_by is null
      returning w.execution_id, k.workflow_id, w.segment, g.event_row_id, g.contact_id, g.depth, g.at,
        k.ended_by is not null as is_over`

/** The rows that consequences are written from. */
function rowsOf(consequences: readonly Consequences[]) {
  const given = consequences.map(({ eventRowId, contactId, email, properties, depth, now }) => ({
    event_row_id: eventRowId,
    contact_id: contactId,
    email,
    properties,
    depth,
    at: now,
  }))
  const [starts, waits] = (['starts', 'waits'] as const).map((which) =>
    consequences.flatMap((one) =>
      one[which].map((each) => ({ ...each, contact_id: one.contactId })),
    ),
  )
  const changed = given.flatMap((one) => (one.properties === null ? [] : one.contact_id))
  const waiting = consequences.flatMap((one) => one.waits.map((wait) => wait.execution_id))
  return { given, starts, waits, changed, waiting }
}
