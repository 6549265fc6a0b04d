// Writes automation events of several contacts in one statement, which waits for contacts that somebody holds or passes over them.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { JsonObject } from '../schema.ts'
import { counted } from './writes.ts'

/** How long a group waits for what it cannot pass over, such as a contact that is being made: then each goes alone. */
const LOCK_WAIT_MS = 200

/** Contacts with more properties are not among a group, whose work stays that of some small ones. */
const PROPERTIES_BYTES_MAX = 20_000

/** An event that no execution caused, and which may make its contact. */
interface GroupedEvent {
  id: string
  /** The caller's own id, or the same as `id`. */
  event_id: string
  /** Of the caller's own id, in hex (`eventIdHash`); null: there is none. */
  id_hash: string | null
  event_name: string
  /** Lower case. No two of a group are the same, nor two of `event_id`. */
  email: string
  properties: JsonObject
  at: Date
  historical: boolean
  /** Of the contact, if it is made. */
  contact_id: string
  now: Date
}

/**
 * `skip`: contacts that somebody holds are passed over, and no other lock is waited for longer than `LOCK_WAIT_MS`. `wait`: all are waited
 * for, in the order of their ids; the transaction holds no other lock that comes after them.
 */
export type OnHeldContacts = 'skip' | 'wait'

/** Null if the event is not written: its contact is held or has large properties, or its event_id was recorded before. */
type StoredOfGroup = {
  contact_id: string
  properties: JsonObject
  first_seen: Date
  /** Whether the contact was made by it. */
  is_new: boolean
} | null

interface GroupRow {
  contact_id: string | null
  properties: JsonObject | null
  first_seen: Date | null
  is_new: boolean | null
  inserted: string | null
}

const countOne = counted(
  {
    count: sql`1`,
    first: sql`excluded.first_seen`,
    last: sql`excluded.last_seen`,
    name: sql`excluded.last_event`,
  },
  sql`excluded.updated_at`,
)

const lockingOf = {
  skip: { timeout: sql`${String(LOCK_WAIT_MS)}::text`, held: sql`skip locked` },
  wait: { timeout: sql`current_setting('lock_timeout')`, held: sql`` },
}

/**
 * Writes the contacts, whose locks it takes in the order of their ids, and the events. What it does not wait for makes it fail with
 * 55P03.
 * @returns for each event what was stored; null in all if an event_id is recorded by somebody else meanwhile: the caller
 *   rolls back then
 */
export async function insertEventGroup(
  trx: Trx,
  workspaceId: WorkspaceId,
  events: readonly GroupedEvent[],
  onHeld: OnHeldContacts,
): Promise<StoredOfGroup[] | null> {
  const given = events.map((event, place) => ({ ...event, place }))
  const emails = events.map(({ email }) => email)
  const theirs = events.flatMap(({ id, event_id }) => (event_id === id ? [] : event_id))
  const { timeout, held } = lockingOf[onHeld]
  // Planned at each call (it begins with a comment, so it gets no name): a plan for few contacts would read all of many.
  const { rows } = await sql<GroupRow>`
    /* group */ with bound as materialized (
      select current_setting('lock_timeout') as before, set_config('lock_timeout', ${timeout}, true)
    ), given as materialized (
      select g.* from bound, jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as g(place integer, id text,
        event_id text, id_hash text, event_name text, email text, properties jsonb, at timestamptz, historical boolean, contact_id text, now timestamptz)
    ), known as materialized (
      select email from contacts
      where workspace_id = ${workspaceId} and email = any(${emails}::text[])
    ), prior as materialized (
      select event_id from automation_events
      where workspace_id = ${workspaceId} and event_id = any(${theirs}::text[])
      union all select g.event_id from given g
        join spent_event_ids s on s.workspace_id = ${workspaceId} and s.id_hash = decode(g.id_hash, 'hex')
    ), locked as materialized (
      select id, email, octet_length(properties::text) <= ${PROPERTIES_BYTES_MAX}::int as is_small from contacts
      where workspace_id = ${workspaceId} and email = any(${emails}::text[])
      order by id for no key update ${held}
    ), fit as materialized (
      select g.*, l.id as locked_id from given g left join locked l on l.email = g.email and l.is_small
      where not exists (select from prior p where p.event_id = g.event_id)
        and (l.id is not null or not exists (select from known k where k.email = g.email))
    ), contact as (
      insert into contacts (id, workspace_id, email, event_count, first_seen, last_seen,
          last_event, created_at, updated_at)
      select contact_id, ${workspaceId}, email, 1, at, at, event_name, now, now
      from fit order by locked_id, email
      on conflict (workspace_id, email) do update set ${countOne}
      returning contacts.id, contacts.email, contacts.properties, contacts.first_seen, xmax = 0 as is_new
    ), event as (
      insert into automation_events (id, workspace_id, contact_id, event_id, event_name, email,
        properties, at, created_at, depth, historical)
      select f.id, ${workspaceId}, c.id, f.event_id, f.event_name, f.email, f.properties, f.at, f.now, 0,
        f.historical
      from contact c join fit f on f.email = c.email order by f.event_id
      on conflict (workspace_id, event_id) do nothing returning id
    ), unbound as materialized (
      select set_config('lock_timeout', b.before, true) from (select count(*) from event) as done, bound b
    )
    select c.id as contact_id, c.properties, c.first_seen, c.is_new, e.id as inserted
    from given g left join contact c on c.email = g.email left join event e on e.id = g.id, unbound
    order by g.place
  `.execute(trx)
  if (rows.some(({ contact_id, inserted }) => contact_id !== null && inserted === null)) return null
  return rows.map(toStored)
}

/** What became of one event; null: it must be recorded alone. */
const toStored = ({
  contact_id,
  properties,
  first_seen,
  is_new,
}: GroupRow): StoredOfGroup | null =>
  contact_id !== null && properties && first_seen
    ? { contact_id, properties, first_seen, is_new: is_new === true }
    : null
