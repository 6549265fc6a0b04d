// Writes automation events of several contacts in one statement, which waits for contacts that somebody holds or passes over them.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { binaryTexts } from '../binaryTexts.ts'
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

/**
 * Null if the event is not written: its contact is held, was changed at this moment or has large properties, or its event_id was
 * recorded before.
 */
type StoredOfGroup = {
  contact_id: string
  properties: JsonObject
  first_seen: Date
  /** Whether the contact was made by it. */
  is_new: boolean
} | null

/** One of an event that was written; or the only one, since none was. */
type GroupRow =
  | {
      /** Of the event, from 1 on. */ place: number
      contact_id: string
      properties: JsonObject
      first_seen: Date
      is_new: boolean
    }
  | { place: null; contact_id: null; properties: null; first_seen: null; is_new: null }

const countOfKnown = counted(
  { count: sql`1`, first: sql`f.at`, last: sql`f.at`, name: sql`f.event_name` },
  sql`f.now`,
)
const countOfMade = counted(
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
 * 55P03. Contacts are read by what the events name alone, so the plan may be kept while the tables grow. That they are sorted by an
 * expression is for the same reason: while there are few, an index of all ids would look as cheap.
 *
 * A known contact is found again by the place of the row that was locked. Where somebody changed it while this waited for it, the
 * row at that place is younger than what the statement sees: such an event is not written.
 * An event_id that somebody else records meanwhile makes it fail with 23505. To pass over it would cost every event an entry
 * of the log of Postgres and a second look at the index.
 * @returns for each event what was stored
 */
export async function insertEventGroup(
  trx: Trx,
  workspaceId: WorkspaceId,
  events: readonly GroupedEvent[],
  onHeld: OnHeldContacts,
): Promise<StoredOfGroup[]> {
  const theirs = events.flatMap(({ id, event_id }) => (event_id === id ? [] : event_id))
  const emails = binaryTexts(events.map(({ email }) => email))
  const { timeout, held } = lockingOf[onHeld]
  // The wait for locks is as before once all events are written: `unbound` counts them, and so waits for them.
  const { rows } = await sql<GroupRow>`
    with bound as materialized (
      select current_setting('lock_timeout') as before, set_config('lock_timeout', ${timeout}, true)
    ), given as materialized (
      ${givenOf(events)}
    ), known as materialized (
      select email from contacts
      where workspace_id = ${workspaceId} and email = any(${emails}::text[])
    ), prior as materialized (
      select event_id from automation_events
      where workspace_id = ${workspaceId} and event_id = any(${binaryTexts(theirs)}::text[])
      union all select g.event_id from given g join (
        select encode(id_hash, 'hex') as id_hash from spent_event_ids where workspace_id = ${workspaceId}
          and id_hash = any(array(select decode(id_hash, 'hex') from given where id_hash is not null))) s on s.id_hash = g.id_hash
    ), locked as materialized (
      select ctid as row, email, octet_length(properties::text) <= ${PROPERTIES_BYTES_MAX}::int as is_small from contacts
      where workspace_id = ${workspaceId} and email = any(${emails}::text[])
      order by id || '' for no key update ${held}
    ), fit as materialized (
      select g.*, l.row from given g left join locked l on l.email = g.email
      where not exists (select from prior p where p.event_id = g.event_id)
        and (l.is_small or l.row is null and not exists (select from known k where k.email = g.email))
    ), ${writingSteps(workspaceId)}, unbound as materialized (
      select set_config('lock_timeout', b.before, true) from (select count(*) from event) as done, bound b
    )
    select h.place::int as place, h.of_id as contact_id, h.of_properties as properties, h.first_seen, h.is_new
    from unbound u left join happened h on true
  `.execute(trx)
  const stored: StoredOfGroup[] = events.map(() => null)
  for (const row of rows) {
    if (row.place === null) continue
    const { place, ...one } = row
    stored[place - 1] = one
  }
  return stored
}

/** A `select` of the events, after `bound`. */
const givenOf = (events: readonly GroupedEvent[]) => sql`
      select g.id, g.event_id, g.id_hash, g.event_name, g.email, g.properties::jsonb as properties,
        g.at::timestamptz as at, g.historical::boolean as historical, g.contact_id, g.now::timestamptz as now, g.place
      from bound, unnest(${binaryTexts(events.map(({ id }) => id))}::text[], ${binaryTexts(events.map(({ event_id }) => event_id))}::text[],
        ${binaryTexts(events.map(({ id_hash }) => id_hash))}::text[], ${binaryTexts(events.map(({ event_name }) => event_name))}::text[],
        ${binaryTexts(events.map(({ email }) => email))}::text[], ${binaryTexts(events.map(({ properties }) => JSON.stringify(properties)))}::text[],
        ${binaryTexts(timesOf(events.map(({ at }) => at)))}::text[], ${binaryTexts(events.map(({ historical }) => String(historical)))}::text[],
        ${binaryTexts(events.map(({ contact_id }) => contact_id))}::text[], ${binaryTexts(timesOf(events.map(({ now }) => now)))}::text[])
        with ordinality as g(id, event_id, id_hash, event_name, email, properties, at, historical, contact_id, now, place)`

/** The steps that write contacts and events, after `fit`. */
const writingSteps = (workspaceId: WorkspaceId) => sql`updated as (
      update contacts set ${countOfKnown}
      from fit f where contacts.ctid = f.row
      returning f.*, contacts.id as of_id, contacts.properties as of_properties, contacts.first_seen, false as is_new
    ), made as (
      insert into contacts (id, workspace_id, email, event_count, first_seen, last_seen,
          last_event, created_at, updated_at)
      select contact_id, ${workspaceId}, email, 1, at, at, event_name, now, now
      from fit where row is null order by email
      on conflict (workspace_id, email) do update set ${countOfMade}
      returning contacts.id as of_id, contacts.email, contacts.properties as of_properties, contacts.first_seen, xmax = 0 as is_new
    ), happened as materialized (
      select * from updated
      union all select f.*, m.of_id, m.of_properties, m.first_seen, m.is_new
        from made m join fit f on f.row is null and f.email = m.email
    ), event as (
      insert into automation_events (id, workspace_id, contact_id, event_id, event_name, email,
        properties, at, created_at, depth, historical)
      select id, ${workspaceId}, of_id, event_id, event_name, email, properties, at, now, 0, historical
      from happened order by event_id returning id
    )`

/** Events of one request have one time, which is written out once. */
function timesOf(times: readonly Date[]): string[] {
  let last: Date | undefined
  let text = ''
  return times.map((time) => {
    if (time !== last) text = time.toISOString()
    last = time
    return text
  })
}
