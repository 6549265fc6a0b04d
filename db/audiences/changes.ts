// Changes of an audience's counts: added as rows, read with the counts, and folded into them now and then.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'

/** How many one call folds. */
const FOLDED_MAX = 10_000

/** Adds to the counts of an audience without locking it against others who do so; it must be one of the workspace. */
export async function insertAudienceChange(
  trx: Trx,
  workspaceId: WorkspaceId,
  audienceId: string,
  by: { contacts: number; unsubscribers: number },
): Promise<void> {
  await sql`
    insert into audience_changes (audience_id, contacts, unsubscribers)
    select id, ${by.contacts}::int, ${by.unsubscribers}::int from audiences
    where workspace_id = ${workspaceId} and id = ${audienceId}
  `.execute(trx)
}

/** Folds changes into the counts, of all workspaces, with locks of audiences by id. Any number of workers may do it. @returns how many it folded */
export async function foldAudienceChanges(trx: Trx): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with gone as (
      delete from audience_changes where id in (
        select id from audience_changes order by id limit ${FOLDED_MAX} for update skip locked)
      returning audience_id, contacts, unsubscribers
    ), sums as (
      select audience_id, sum(contacts)::int as contacts, sum(unsubscribers)::int as unsubscribers
      from gone group by audience_id
    ), held as (
      select id from audiences where id in (select audience_id from sums) order by id for no key update
    ), folded as (
      update audiences a set contact_count = a.contact_count + s.contacts,
        unsubscribers = a.unsubscribers + s.unsubscribers
      from held join sums s on s.audience_id = held.id where a.id = held.id
    )
    select count(*)::int as count from gone
  `.execute(trx)
  return rows[0]?.count ?? 0
}
