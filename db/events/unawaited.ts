// Writes events of several contacts that start and wake nothing, by one statement and a guard that undoes it if they do.
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { happenings } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { binaryTexts } from '../binaryTexts.ts'
import type { Trx } from '../connect.ts'
import { executeGuarded, failIf, isRefusedByGuard } from '../guarded.ts'
import { compileOnce, type Slots } from '../prepared.ts'
import { hasKept } from '../segments/kept.ts'
import { unseen } from '../unseen.ts'
import {
  type Asked,
  type GroupedRow,
  type OnHeldContacts,
  toAsked,
  writesOf,
} from './groupWrites.ts'
import { oneWait } from './lookFor.ts'

/** What the log of Postgres says where the guard has refused: an operator finds these texts in docs/troubleshooting.md. */
const AWAITED = 'some of these events start or wake something: they are recorded in more steps'
const NOT_ALL =
  'a contact of some of these events was changed at this moment: they are recorded in more steps'

/**
 * Settings of the transaction, two lists with commas between: the ids of the contacts of those events that were written, and in the same order
 * the places of these events among the given ones, from 1 on. Empty where none was written.
 */
const CONTACTS = sql.lit('dripline.contacts')
const PLACES = sql.lit('dripline.places')
/** A setting of the transaction: whether a contact was made, as `true` or `false`. */
const HAS_MADE = sql.lit('dripline.has_made')

interface Written {
  /** As in `CONTACTS`. */
  contacts: string
  /** As in `PLACES`. */
  places: string
}

/** The statements. What they have written they leave in the settings too: the guard is sent before they are answered. */
const writes = writesOf(
  (steps, onHeld) =>
    compileOnce<Asked, Written>((slot) => {
      const unbound = onHeld === 'wait' ? sql`` : sql`, unbound`
      return sql`${steps(slot)}
    select set_config(${CONTACTS}, w.contacts, true) as contacts, set_config(${PLACES}, w.places, true) as places,
      set_config(${HAS_MADE}, w.has_made, true)
    from (
      select coalesce(string_agg(h.of_id, ','), '') as contacts, coalesce(string_agg(h.place::text, ','), '') as places,
        coalesce(bool_or(h.is_new), false)::text as has_made
      from happened h
    ) w${unbound}`
    }),
  { stopsAtPrior: true, tellsContacts: false },
)

interface AskedOfGuard {
  workspaceId: WorkspaceId
  events: readonly GroupedRow[]
  onHeld: OnHeldContacts
}

/**
 * Refuses if a workflow begins at one of these events or at a contact that was made, if a contact waits for its event or for any
 * change, if segments of the workspace are kept, or, with `wait`, if some of them were written and others not. It runs under the locks of the
 * contacts, under which waits are registered, so it sees each of their waits. It looks for what `lookFor` looks for: whatever
 * else an event may start or wake one day belongs into both.
 */
const guardOf = (eventsOf: (slot: Slots<AskedOfGuard>) => EventsOfGuard) =>
  compileOnce<AskedOfGuard, SqlBool>((slot) => {
    const workspaceId = sql<WorkspaceId>`${slot((asked) => asked.workspaceId)}::text`
    const { names, waitFor } = eventsOf(slot)
    // With 'skip' no number is too few.
    const writtenMin = sql`${slot(({ onHeld, events }) => String(onHeld === 'wait' ? events.length : 0))}::int`
    const trigger = sql`select from workflow_triggers t where t.workspace_id = ${workspaceId} and t.event_name`
    // One walk over an index for all contacts costs less than one for each.
    const open = sql`w.workspace_id = ${workspaceId} and w.consumed_by is null and w.ended_by is null`
    const ofContacts = sql`select from event_waits w where w.contact_id = any((select ids from written)::text[]) and ${open}`
    const awaited = sql`exists (${trigger} = any(${names}))
      or current_setting(${HAS_MADE})::boolean and exists (${trigger} = ${sql.lit(happenings.contactCreated)})
      or ${hasKept(workspaceId)}
      or exists (${waitFor(ofContacts, workspaceId)})
      or exists (${ofContacts} and w.watched)`
    const notAll = sql`cardinality(ids) > 0 and cardinality(ids) < ${writtenMin}`
    return sql`
    with written as materialized (
      select string_to_array(current_setting(${CONTACTS}), ',') as ids, string_to_array(current_setting(${PLACES}), ',')::int[] as places
    )
    select ${failIf(awaited, AWAITED)}, ${failIf(notAll, NOT_ALL)} from written`
  })

/** What a guard looks for of its events. */
interface EventsOfGuard {
  /** Their names: an expression of type text[]. */
  names: RawBuilder<unknown>
  /**
   * A `select` of waits for them.
   * @param ofContacts a `select` of open waits `w` of their contacts, which takes further conditions
   */
  waitFor: (
    ofContacts: RawBuilder<unknown>,
    workspaceId: RawBuilder<WorkspaceId>,
  ) => RawBuilder<unknown>
}

const guards = {
  /** Of one name. */
  one: guardOf((slot) => {
    const name = sql`${slot(({ events }) => events[0]?.event_name)}::text`
    return {
      names: sql`array[${name}]`,
      waitFor: (ofContacts) => sql`${ofContacts} and w.event_name = ${name}`,
    }
  }),
  /** Each contact is looked for by itself: before Postgres 17 a walk by two lists looks for each pair of them. */
  several: guardOf((slot) => {
    const names = unseen(
      sql`${slot(({ events }) => binaryTexts(events.map(({ event_name }) => event_name)))}::text[]`,
    )
    return {
      names: sql`array(select distinct n from unnest(${names}) as n)`,
      waitFor: (_, workspaceId) => sql`
        select from (
          select w.contact_id, (${names})[w.place] as event_name
          from unnest((select ids from written), (select places from written)) as w(contact_id, place)
        ) g cross join lateral (${oneWait(workspaceId, sql`w.event_name = g.event_name`)}) one`,
    }
  }),
}

/**
 * Writes contacts and events as `insertEventGroup` does, as a transaction of its own.
 * @param db a handle without an open transaction
 * @param onHeld `wait`: all are written or none
 * @returns for each event, in order, the id of its contact, or null if it was not written. Else nothing was written: `awaited`, since one
 * of them may start or wake something; `not_all`, with `wait` alone, since one of them cannot be written with the others now
 * @throws as `insertEventGroup` does: 55P03, 23505
 */
export async function insertUnawaitedGroup(
  db: Trx,
  workspaceId: WorkspaceId,
  events: readonly GroupedRow[],
  onHeld: OnHeldContacts,
): Promise<(string | null)[] | 'awaited' | 'not_all'> {
  const [asked, are] = toAsked(workspaceId, events)
  const isOneName = events.every(({ event_name }) => event_name === events[0]?.event_name)
  const guard = guards[isOneName ? 'one' : 'several']
  try {
    const { rows } = await executeGuarded(
      db,
      writes[onHeld][are](db, asked),
      guard(db, { workspaceId, events, onHeld }),
    )
    const written = contactIdsOf(events.length, rows[0])
    return onHeld === 'wait' && written.includes(null) ? 'not_all' : written
  } catch (err) {
    if (isRefusedByGuard(err, AWAITED)) return 'awaited'
    if (isRefusedByGuard(err, NOT_ALL)) return 'not_all'
    throw err
  }
}

/** For each of `count` events, in order, the id of its contact, or null if it was not written. */
function contactIdsOf(count: number, row?: Written): (string | null)[] {
  const written = new Array<string | null>(count).fill(null)
  if (!row?.contacts) return written
  const contactIds = row.contacts.split(',')
  for (const [i, place] of row.places.split(',').entries()) {
    written[Number(place) - 1] = contactIds[i] ?? null
  }
  return written
}
