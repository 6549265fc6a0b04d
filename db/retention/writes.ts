// Deletes what is too old to be kept, a page in each statement, and notes which worker looks for it, with its settings.
import { sql } from 'kysely'
import type { Trx } from '../connect.ts'
import type { RetentionPart } from './parts.ts'

/** The key of a row, as text. */
export type RetentionPlace = readonly string[]

export interface RetentionPage {
  deleted: number
  /** Where the next page begins: behind this row; null: there is none. */
  next: RetentionPlace | null
}

/**
 * Deletes old rows of one page, in the order of an index. Rows that somebody has locked are left for another time: nobody waits for this,
 * and it waits for nobody. What has changed since the statement began is left, too.
 * @param after null: from the beginning
 */
export async function deleteRetentionPage(
  trx: Trx,
  { table, key, old, only, set, page }: RetentionPart,
  { before, after, limit }: { before: Date; after: RetentionPlace | null; limit: number },
): Promise<RetentionPage> {
  const most = Math.min(limit, page ?? limit)
  const names = Object.keys(key)
  const columns = (alias: string) => sql.join(names.map((name) => sql.ref(`${alias}.${name}`)))
  const given = names.map((name, i) => sql`${after?.[i] ?? ''}::${sql.raw(key[name] ?? '')}`)
  const behind = after ? sql`and (${columns('t')}) > (${sql.join(given)})` : sql``
  const isOld = sql`t.ctid = any(array(select o.tid from old o))`
  const forget = set
    ? sql`update ${sql.table(table)} t set ${set} where ${isOld}`
    : sql`delete from ${sql.table(table)} t where ${isOld}`
  const besides = only ? sql`and ${only(before)}` : sql``
  const texts = sql.join(names.map((name) => sql`${sql.ref(`p.${name}`)}::text`))
  const lastFirst = sql.join(names.map((name) => sql`${sql.ref(`p.${name}`)} desc`))
  const { rows } = await sql<{ deleted: number; seen: number; last: string[] | null }>`
    /* retention */ with page as materialized (
      select t.ctid as tid, ${columns('t')} from ${sql.table(table)} t
      where ${old(before)} ${behind} order by ${columns('t')} limit ${most}::int
    ), old as materialized (
      select t.ctid as tid from ${sql.table(table)} t
      where t.ctid = any(array(select p.tid from page p)) and ${old(before)} ${besides}
      for update of t skip locked
    ), gone as (
      ${forget} returning 1
    )
    select (select count(*)::int from gone) as deleted, (select count(*)::int from page) as seen,
      (select array[${texts}] from page p order by ${lastFirst} limit 1) as last
  `.execute(trx)
  const { deleted = 0, seen = 0, last = null } = rows[0] ?? {}
  return { deleted, next: seen < most ? null : last }
}

/**
 * Takes the parts that are due, and puts them off. Who does not finish one loses nothing: it is due again then.
 * @param parts with the days for which the caller keeps them, null: no setting says so
 * @returns their names
 */
export async function claimRetentionParts(
  trx: Trx,
  parts: readonly { name: string; days: number | null }[],
  { now, until }: { now: Date; until: Date },
): Promise<string[]> {
  const rows = await trx
    .insertInto('retention_parts')
    .values(
      [...parts]
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .map(({ name, days }) => ({ name, days, next_at: until })),
    )
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet(({ ref }) => ({ next_at: until, days: ref('excluded.days') }))
        .where('retention_parts.next_at', '<=', now),
    )
    .returning('name')
    .execute()
  return rows.map(({ name }) => name)
}
