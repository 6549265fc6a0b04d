// Writes automation events of several contacts in one statement, which waits for contacts that somebody holds or passes over them.
// Long because one statement is made of parts: for plain events and for others, to wait for contacts and to pass over them.

import { type RawBuilder, sql } from 'kysely'
import { idPrefixes, type WorkspaceId } from '../../rules/ids.ts'
import { binaryTexts } from '../binaryTexts.ts'
import type { Trx } from '../connect.ts'
import { prepare, type Slots } from '../prepared.ts'
import type { JsonObject } from '../schema.ts'
import { counted } from './writes.ts'

/** How long a group waits for what it cannot pass over, such as a contact that is being made: then each goes alone. */
const LOCK_WAIT_MS = 200

/** Contacts with more properties are not among a group whose properties are read: its work stays that of some small ones. */
const PROPERTIES_BYTES_MAX = 20_000

/** The row of an event that no execution caused, and which may make its contact. */
export interface GroupedRow {
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
      /** A number, which is read sooner than a time that is written out. */
      first_seen_ms: number
      is_new: boolean
    }
  | { place: null; contact_id: null; properties: null; first_seen_ms: null; is_new: null }

/** What a statement that writes events is asked. */
export interface Asked {
  workspaceId: WorkspaceId
  events: readonly GroupedRow[]
  emails: Buffer
  /** The caller's own ids, and what they are known by once their contacts were erased. */
  theirs: readonly { event_id: string; id_hash: string | null }[]
}

/** Makes a parameter of a text of each event. */
const textsBy = (slot: Slots<Asked>) => (of: (event: GroupedRow) => string | null) =>
  sql`${slot(({ events }) => binaryTexts(events.map(of)))}::text[]`

/**
 * Writes the contacts, whose locks it takes in the order of their ids, and the events. What it does not wait for makes it fail with
 * 55P03. Contacts are read by what the events name alone, so the plan may be kept while the tables grow.
 *
 * A known contact is found again by the place of the row that was read. Where somebody changed it while this waited for it, the
 * row at that place is younger than what the statement sees: such an event is not written, and its contact is locked. A Postgres that
 * looks at the younger row all the same writes the event by that.
 * An event_id that somebody else records meanwhile makes it fail with 23505. To pass over it would cost every event an entry
 * of the log of Postgres and a second look at the index.
 * @returns for each event what was stored
 */
export async function insertEventGroup(
  trx: Trx,
  workspaceId: WorkspaceId,
  events: readonly GroupedRow[],
  onHeld: OnHeldContacts,
): Promise<StoredOfGroup[]> {
  const [asked, are] = toAsked(workspaceId, events)
  const { rows } = await writes[onHeld][are](trx, asked)
  const stored: StoredOfGroup[] = events.map(() => null)
  for (const row of rows) {
    if (row.place === null) continue
    const { place, contact_id, properties, first_seen_ms, is_new } = row
    const first_seen = new Date(Math.round(first_seen_ms))
    stored[place - 1] = { contact_id, properties, first_seen, is_new }
  }
  return stored
}

/** What a statement is asked, and which of the two of `writesOf` it is. */
export function toAsked(workspaceId: WorkspaceId, events: readonly GroupedRow[]): [Asked, Are] {
  const theirs = events.filter(({ id, event_id }) => event_id !== id)
  const emails = binaryTexts(events.map(({ email }) => email))
  const are = theirs.length === 0 && haveOneTime(events) ? 'plain' : 'any'
  return [{ workspaceId, events, emails, theirs }, are]
}

/** Whether all of them happen as they come, in one request. */
function haveOneTime(events: readonly GroupedRow[]): boolean {
  const time = events[0]?.now.getTime()
  return events.every(
    ({ at, now, historical }) => !historical && at.getTime() === time && now.getTime() === time,
  )
}

/** The parts of a statement that depend on how much is said of its events. */
interface EventParts {
  /**
   * A `select` of `place` (from 1 on), `id`, `event_name`, `email`, `properties`, and what else is said of each. It ends with its `from`, to
   * which a table may be added.
   */
  given: RawBuilder<unknown>
  /** Further columns of `given` that `fit` has too, each after a comma. */
  timeColumns: RawBuilder<unknown>
  /** When it happened, of a row of `fit` (`f`) or of `given` (`g`). */
  at: (alias: 'f' | 'g') => RawBuilder<unknown>
  /** When it came, likewise. */
  now: (alias: 'f' | 'g') => RawBuilder<unknown>
  /** Of a row `g` of `given`. */
  eventId: RawBuilder<unknown>
  /** Whether it tells of the past, of a row `g`. */
  historical: RawBuilder<unknown>
  /** In which order events are written, so that transactions with the same event_ids do not deadlock; empty where none has the same. */
  order: RawBuilder<unknown>
}

/** Events of which no more is said than what happened to whom. Their event_ids are new, so no other transaction writes one of them. */
const plainEvents = (slot: Slots<Asked>, emails: RawBuilder<unknown>): EventParts => {
  const texts = textsBy(slot)
  const now = sql`${slot(({ events }) => events[0]?.now.toISOString())}::timestamptz`
  return {
    given: sql`
      select g.place, g.id, g.event_name, g.email, g.properties
      from unnest(${texts(({ id }) => id)}, ${texts(({ event_name }) => event_name)}, ${emails},
        ${texts(({ properties }) => JSON.stringify(properties))}) with ordinality as g(id, event_name, email, properties, place)`,
    timeColumns: sql``,
    at: () => now,
    now: () => now,
    eventId: sql`g.id`,
    historical: sql`false`,
    order: sql``,
  }
}

const anyEvents = (slot: Slots<Asked>, emails: RawBuilder<unknown>): EventParts => {
  const texts = textsBy(slot)
  const times = (of: (event: GroupedRow) => Date) =>
    sql`${slot(({ events }) => binaryTexts(timesOf(events.map(of))))}::text[]`
  return {
    given: sql`
      select g.place, g.id, g.event_id, g.event_name, g.email, g.properties, g.at::timestamptz as at, g.now::timestamptz as now,
        g.historical::boolean as historical
      from unnest(${texts(({ id }) => id)}, ${texts(({ event_name }) => event_name)}, ${emails},
        ${texts(({ properties }) => JSON.stringify(properties))}, ${texts(({ event_id }) => event_id)}, ${times(({ at }) => at)},
        ${times(({ now }) => now)}, ${texts(({ historical }) => String(historical))})
        with ordinality as g(id, event_name, email, properties, event_id, at, now, historical, place)`,
    timeColumns: sql`, g.at, g.now`,
    at: (alias) => sql.ref(`${alias}.at`),
    now: (alias) => sql.ref(`${alias}.now`),
    eventId: sql`g.event_id`,
    historical: sql`g.historical`,
    order: sql`order by g.event_id`,
  }
}

/** A `select` of the caller's own ids that were recorded before. */
const priorIds = (slot: Slots<Asked>, workspaceId: RawBuilder<unknown>) => {
  const ids = sql`${slot(({ theirs }) => binaryTexts(theirs.map(({ event_id }) => event_id)))}::text[]`
  const hashes = sql`${slot(({ theirs }) => binaryTexts(theirs.map(({ id_hash }) => id_hash)))}::text[]`
  return sql`
      select event_id from automation_events
      where workspace_id = ${workspaceId} and event_id = any(${ids})
      union all select g.event_id from unnest(${ids}, ${hashes}) as g(event_id, id_hash) join (
        select encode(id_hash, 'hex') as id_hash from spent_event_ids where workspace_id = ${workspaceId}
          and id_hash = any(array(select decode(h, 'hex') from unnest(${hashes}) as h))) s on s.id_hash = g.id_hash`
}

/** The parts of a statement that depend on whether it tells of its contacts; each column stands after a comma. */
interface ContactParts {
  /** A further column of a contact that is read. */
  readColumn: RawBuilder<unknown>
  /** A condition: no contact of `known` is left out. */
  areAllFit: RawBuilder<unknown>
  /** A condition: a contact `l` was found and is not left out. */
  isFit: RawBuilder<unknown>
  /** Further columns of `happened`, of the table. */
  columns: RawBuilder<unknown>
  /** The same, of the step `made` as `m`. */
  madeColumns: RawBuilder<unknown>
}

/** Contacts with large properties are left out. */
const toldContacts: ContactParts = {
  readColumn: sql`, octet_length(properties::text) <= ${sql.lit(PROPERTIES_BYTES_MAX)} as is_small`,
  areAllFit: sql`not exists (select from known l where not l.is_small)`,
  isFit: sql`l.is_small`,
  columns: sql`, contacts.properties as of_properties, contacts.first_seen`,
  madeColumns: sql`, m.of_properties, m.first_seen`,
}
const untoldContacts: ContactParts = {
  readColumn: sql``,
  areAllFit: sql`true`,
  isFit: sql`l.row is not null`,
  columns: sql``,
  madeColumns: sql``,
}

/**
 * Contacts are read without a lock, and the update takes it. `place between …` is always true: it makes the planner expect one row, so
 * that the update finds each contact by its ctid and in the order of `fit`, however few contacts there are. With a contact that is left out
 * nothing is written: it would have to be locked after others, out of their order. `k.id` is the first column: ids begin alike, so the sort
 * compares them whole, and Postgres reaches the first column of a row without walking over others.
 */
const waiting = (
  { timeColumns }: EventParts,
  { readColumn, areAllFit }: ContactParts,
  contacts: RawBuilder<unknown>,
  isNotPrior: RawBuilder<unknown>,
) => sql`known as materialized (
      select ctid as row, id, email ${readColumn} ${contacts}
    ), fit as materialized (
      select k.id, g.place, g.event_name, g.email, k.row ${timeColumns} from given g left join known k on k.email = g.email
      where g.place between 1 and 2147483647 and ${isNotPrior} and ${areAllFit}
      order by k.id
    )`

/** That the locks are sorted by an expression is for a kept plan: while contacts are few, an index of all ids would look as cheap. */
const skipping = (
  { timeColumns }: EventParts,
  { readColumn, isFit }: ContactParts,
  contacts: RawBuilder<unknown>,
  isNotPrior: RawBuilder<unknown>,
) => sql`known as materialized (
      select email ${contacts}
    ), locked as materialized (
      select ctid as row, email ${readColumn} ${contacts}
      order by id || '' for no key update skip locked
    ), fit as materialized (
      select g.place, g.event_name, g.email, l.row ${timeColumns} from given g left join locked l on l.email = g.email
      where ${isNotPrior} and (${isFit} or l.row is null and not exists (select from known k where k.email = g.email))
    )`

const countOfKnown = ({ at, now }: EventParts) =>
  counted({ count: sql`1`, first: at('f'), last: at('f'), name: sql`f.event_name` }, now('f'))

const countOfMade = counted(
  {
    count: sql`1`,
    first: sql`excluded.first_seen`,
    last: sql`excluded.last_seen`,
    name: sql`excluded.last_event`,
  },
  sql`excluded.updated_at`,
)

/**
 * The steps that write contacts and events, after `fit`. A contact that is made gets the id of its event with the prefix of contacts.
 * `happened` is read twice and not materialized: `updated` and `made` keep their rows, so it would be a further copy of these.
 */
const writingSteps = (
  parts: EventParts,
  workspaceId: RawBuilder<unknown>,
  { columns, madeColumns }: ContactParts,
  returning: RawBuilder<unknown>,
) => sql`updated as (
      update contacts set ${countOfKnown(parts)}
      from fit f where contacts.ctid = f.row and contacts.email = f.email
      returning f.place, contacts.id as of_id, false as is_new, contacts.event_count ${columns}
    ), made as (
      insert into contacts (id, workspace_id, email, event_count, first_seen, last_seen,
          last_event, created_at, updated_at)
      select ${sql.lit(`${idPrefixes.contact}_`)} || substr(g.id, ${sql.lit(idPrefixes.automationEvent.length + 2)}), ${workspaceId}, g.email, 1,
        ${parts.at('g')}, ${parts.at('g')}, g.event_name, ${parts.now('g')}, ${parts.now('g')}
      from fit f join given g on g.place = f.place where f.row is null order by f.email
      on conflict (workspace_id, email) do update set ${countOfMade}
      returning contacts.id as of_id, contacts.email, xmax = 0 as is_new, contacts.event_count ${columns}
    ), happened as not materialized (
      select * from updated
      union all select g.place, m.of_id, m.is_new, m.event_count ${madeColumns} from made m join given g on g.email = m.email
    ), event as (
      insert into automation_events (id, workspace_id, contact_id, event_id, event_name, email,
        properties, at, created_at, depth, historical, ordinal)
      select g.id, ${workspaceId}, h.of_id, ${parts.eventId}, g.event_name, g.email, g.properties::jsonb, ${parts.at('g')},
        ${parts.now('g')}, 0, ${parts.historical}, h.event_count
      from happened h join given g on g.place = h.place ${parts.order} ${returning}
    )`

/** In what the statements of the two callers differ. */
interface WriteOptions {
  /** Those that wait write nothing where one event_id was recorded before, so that what is all or nothing need not be undone. */
  stopsAtPrior: boolean
  /** Whether `happened` tells of each contact `of_properties` and `first_seen`. Then those with large properties are left out. */
  tellsContacts: boolean
}

/** `plain`: nothing more is said of the events than what happened to whom, now. */
type Are = 'plain' | 'any'

/** Of each event that is written a row. */
const STORED = sql`h.place::int as place, h.of_id as contact_id, h.of_properties as properties,
      date_part('epoch', h.first_seen) * 1000 as first_seen_ms, h.is_new`

/** The wait for locks is as before once all events are written: `unbound` counts them, and so waits for them. */
const groupWrite =
  (onHeld: OnHeldContacts, are: Are, { stopsAtPrior, tellsContacts }: WriteOptions) =>
  (slot: Slots<Asked>) => {
    const workspaceId = sql`${slot((asked) => asked.workspaceId)}::text`
    const emails = sql`${slot((asked) => asked.emails)}::text[]`
    const parts = are === 'plain' ? plainEvents(slot, emails) : anyEvents(slot, emails)
    const prior =
      are === 'plain' ? sql`` : sql`prior as materialized (${priorIds(slot, workspaceId)}), `
    const ofSameEvent =
      onHeld === 'wait' && stopsAtPrior ? sql`` : sql`where p.event_id = g.event_id`
    const isNotPrior =
      are === 'plain' ? sql`true` : sql`not exists (select from prior p ${ofSameEvent})`
    const contacts = sql`from contacts
      where workspace_id = ${workspaceId} and email = any(${emails})`
    const of = tellsContacts ? toldContacts : untoldContacts
    const returning = onHeld === 'wait' ? sql`` : sql`returning id`
    const writing = writingSteps(parts, workspaceId, of, returning)
    if (onHeld === 'wait') {
      return sql`
    with given as materialized (${parts.given}
    ), ${prior}${waiting(parts, of, contacts, isNotPrior)}, ${writing}`
    }
    return sql`
    with bound as materialized (
      select current_setting('lock_timeout') as before, set_config('lock_timeout', ${sql.lit(String(LOCK_WAIT_MS))}, true)
    ), given as materialized (${parts.given}, bound
    ), ${prior}${skipping(parts, of, contacts, isNotPrior)}, ${writing}, unbound as materialized (
      select set_config('lock_timeout', b.before, true) from (select count(*) from event) as done, bound b
    )`
  }

/**
 * Makes the four statements that write events: for plain ones and for others, to pass over contacts that somebody holds and to wait.
 * @param make ends the steps of one of them with a `select`. The steps give `happened` (of each event that is written `place`, `of_id` and
 * `is_new`, with `tellsContacts` also `of_properties` and `first_seen`) and, to pass over, `unbound`, which the `select` has to read: a step
 * that nobody reads is not run, and the wait for locks would stay short
 */
export const writesOf = <Made>(
  make: (steps: ReturnType<typeof groupWrite>, onHeld: OnHeldContacts) => Made,
  options: WriteOptions,
) => {
  const bothOf = (onHeld: OnHeldContacts) => ({
    plain: make(groupWrite(onHeld, 'plain', options), onHeld),
    any: make(groupWrite(onHeld, 'any', options), onHeld),
  })
  return { skip: bothOf('skip'), wait: bothOf('wait') }
}

const writes = writesOf(
  (steps, onHeld) =>
    prepare<Asked, GroupRow>((slot) => {
      const from = onHeld === 'wait' ? sql`happened h` : sql`unbound u left join happened h on true`
      return sql`${steps(slot)}
    select ${STORED} from ${from}`
    }),
  { stopsAtPrior: false, tellsContacts: true },
)

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
