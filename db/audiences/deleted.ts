// Deletes what is left of deleted audiences, a page in each statement: their contacts, what was to be added to their counts, and then their rows.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'

/** The audience of the next workspace behind `after` that has a deleted one: that which was deleted first, but for those of `but`. */
export async function findDeletedAudience(
  db: Db,
  { after, but }: { after: string; but: readonly string[] },
): Promise<{ workspace_id: WorkspaceId; id: string } | undefined> {
  const { rows } = await sql<{ workspace_id: WorkspaceId; id: string }>`
    select workspace_id, id from audiences
    where deleted_at is not null and workspace_id > ${after} and id <> all(${[...but]}::text[])
    order by workspace_id, deleted_at, id limit 1
  `.execute(db)
  return rows[0]
}

interface DeletedSummary {
  count: number
  /** null: there is none. */
  oldest_at: Date | null
}

/** Of how many deleted audiences something is left (of ten thousand at most), and when the first of these was deleted. */
export async function findDeletedSummary(db: Db): Promise<DeletedSummary> {
  const { rows } = await sql<DeletedSummary>`
    select count(*)::int as count, min(d.deleted_at) as oldest_at from (
      select deleted_at from audiences where deleted_at is not null and workspace_id > ''
      order by workspace_id, deleted_at, id limit 10000) d
  `.execute(db)
  return rows[0] ?? { count: 0, oldest_at: null }
}

/**
 * Begins a page. It locks the audience, so that nobody adds to it meanwhile, nor does a page of it; and it lets the transaction find rows in the
 * order of an index alone: Postgres may yet take an audience that has grown fast for a small one, and would read all of it for each page.
 * It waits for nobody.
 */
export async function beginPageOfDeleted(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<'begun' | 'held' | 'gone'> {
  const { rows: locked } = await sql`
    select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true) from audiences
    where workspace_id = ${workspaceId} and id = ${id} and deleted_at is not null for update skip locked
  `.execute(trx)
  if (locked.length > 0) return 'begun'
  const { rows: left } = await sql`
    select id from audiences where workspace_id = ${workspaceId} and id = ${id} and deleted_at is not null
  `.execute(trx)
  return left.length > 0 ? 'held' : 'gone'
}

/**
 * Deletes contacts of a locked deleted audience. Those that somebody holds, or has changed since the statement began, are passed over.
 * @param page `from`: the address at which it begins
 * @returns how many, and the last address that it has come to; null: fewer than `limit` were left
 */
export async function deleteContactsOfDeleted(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  { from, limit }: { from: string; limit: number },
): Promise<{ deleted: number; last: string | null }> {
  // The workspace is checked through the audience, as where contacts are listed. A statement that begins with `with` is named and its plan
  // kept (db/statementNames.ts); the comment keeps this one unnamed, so it is planned by what `beginPageOfDeleted` has set.
  const { rows } = await sql<{ deleted: number; seen: number; last: string | null }>`
    /* page */ with page as materialized (
      select c.ctid as place, c.email from audience_contacts c
      where c.audience_id = (select a.id from audiences a where a.workspace_id = ${workspaceId} and a.id = ${id})
        and c.email >= ${from}
      order by c.email limit ${limit}::int for update of c skip locked
    ), gone as (
      delete from audience_contacts c where c.ctid = any(array(select p.place from page p)) returning 1
    )
    select (select count(*)::int from gone) as deleted, count(*)::int as seen, max(p.email) as last from page p
  `.execute(trx)
  const { deleted = 0, seen = 0, last = null } = rows[0] ?? {}
  return { deleted, last: seen < limit ? null : last }
}

/** Deletes changes of counts of a locked deleted audience. @returns how many */
export async function deleteChangesOfDeleted(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  limit: number,
): Promise<number> {
  const { rows } = await sql`
    delete from audience_changes where id = any(array(
      select c.id from audience_changes c join audiences a on a.id = c.audience_id
      where a.workspace_id = ${workspaceId} and a.id = ${id} limit ${limit}::int for update of c skip locked))
    returning id
  `.execute(trx)
  return rows.length
}

/** Deletes a locked deleted audience of which nothing is left, so that its row takes no others with it. @returns false: something is left */
export async function deleteEmptyAudience(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<boolean> {
  const { rows } = await sql`
    delete from audiences where workspace_id = ${workspaceId} and id = ${id} and deleted_at is not null
      and not exists (select from audience_contacts where audience_id = ${id})
      and not exists (select from audience_changes where audience_id = ${id})
    returning id
  `.execute(trx)
  return rows.length > 0
}
