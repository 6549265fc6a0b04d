// Writes events of several contacts that start and wake nothing, by one statement and a guard that undoes it if they do.
import { sql } from 'kysely'
import { happenings } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { binaryTexts } from '../binaryTexts.ts'
import type { Trx } from '../connect.ts'
import { executeGuarded } from '../guarded.ts'
import { compileOnce } from '../prepared.ts'
import { keptKeys } from '../segments/kept.ts'
import { unseen } from '../unseen.ts'
import {
  type Asked,
  type GroupedEvent,
  type OnHeldContacts,
  toAsked,
  writesOf,
} from './groupWrites.ts'
import { oneWait } from './lookFor.ts'

/** What a guard fails with, also in the log of Postgres. */
const AWAITED = 'some of these events start or wake something, so they are recorded in more steps'
const UNWRITTEN =
  'some of these events cannot be written with the others, so they are recorded in more steps'

/** The statements. Whose events were written, in order, is left for the guard, in settings of the transaction. */
const writes = writesOf((steps, onHeld) =>
  compileOnce<Asked, { contacts: string }>((slot) => {
    const unbound = onHeld === 'wait' ? sql`` : sql`, unbound`
    return sql`${steps(slot)}
    select set_config('dripline.contacts', w.contacts, true) as contacts, set_config('dripline.has_made', w.has_made, true)
    from (
      select string_agg(coalesce(h.of_id, ''), ',' order by g.place) as contacts, coalesce(bool_or(h.is_new), false)::text as has_made
      from given g left join happened h on h.place = g.place
    ) w${unbound}`
  }),
)

interface Guarded {
  workspaceId: WorkspaceId
  events: readonly GroupedEvent[]
  onHeld: OnHeldContacts
}

/**
 * Fails with 22P02 if a workflow begins at one of these events or at a contact that was made, if a contact waits for its event or for any
 * change, if segments of the workspace are kept, or if one of them was not written that had to be. It runs under the locks of the
 * contacts, so it sees each of their waits.
 */
const guard = compileOnce<Guarded, never>((slot) => {
  const workspaceId = sql<WorkspaceId>`${slot((asked) => asked.workspaceId)}::text`
  const names = unseen(
    sql`${slot(({ events }) => binaryTexts(events.map(({ event_name }) => event_name)))}::text[]`,
  )
  const isWhole = sql`${slot(({ onHeld }) => String(onHeld === 'wait'))}::boolean`
  const trigger = sql`select from workflow_triggers t where t.workspace_id = ${workspaceId} and t.event_name`
  return sql`
    with given as materialized (
      select * from unnest(string_to_array(current_setting('dripline.contacts'), ','), ${names}) as g(contact_id, event_name)
    )
    select case when ${isWhole} and exists (select from given where coalesce(contact_id, '') = '') then ${sql.lit(UNWRITTEN)}
      when exists (${trigger} = any(array(select distinct event_name from given)))
      or current_setting('dripline.has_made')::boolean and exists (${trigger} = ${sql.lit(happenings.contactCreated)})
      or (${keptKeys(workspaceId)}) is not null
      or exists (select from given g cross join lateral (${oneWait(workspaceId, sql`w.event_name = g.event_name`)}) one)
      or exists (select from given g cross join lateral (${oneWait(workspaceId, sql`w.watched`)}) one)
      then ${sql.lit(AWAITED)} else 'true' end::boolean`
})

/**
 * Writes contacts and events as `insertEventGroup` does, as a transaction of its own.
 * @param onHeld `wait`: all are written or none
 * @returns for each event the id of its contact, or null if it was not written. Or nothing was written: `awaited`, since one of them starts
 * or wakes something; `unwritten`, since one of them was not written
 */
export async function insertUnawaitedGroup(
  db: Trx,
  workspaceId: WorkspaceId,
  events: readonly GroupedEvent[],
  onHeld: OnHeldContacts,
): Promise<(string | null)[] | 'awaited' | 'unwritten'> {
  const [asked, are] = toAsked(workspaceId, events)
  try {
    const { rows } = await executeGuarded(
      db,
      writes[onHeld][are](db, asked),
      guard(db, { workspaceId, events, onHeld }),
    )
    const contactIds = rows[0]?.contacts.split(',') ?? []
    return events.map((_, place) => contactIds[place] || null)
  } catch (err) {
    if (!(err instanceof Error && 'code' in err && err.code === '22P02')) throw err
    if (err.message.includes(AWAITED)) return 'awaited'
    if (err.message.includes(UNWRITTEN)) return 'unwritten'
    throw err
  }
}
