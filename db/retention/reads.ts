// Counts what is too old to be kept, and reads how long workers keep it.
import { sql } from 'kysely'
import type { Db } from '../connect.ts'
import type { RetentionPart } from './parts.ts'

export interface OldCount {
  count: number
  /** Whether there are no more than these: false where the look ended before. */
  is_all: boolean
  /** null: there is none. */
  oldest_at: Date | null
}

/** How many rows would be deleted now, of the `max` oldest that are looked at, and how old the oldest of them is. */
export async function countOld(
  db: Db,
  { table, key, old, only, at }: RetentionPart,
  { before, max }: { before: Date; max: number },
): Promise<OldCount> {
  const order = sql.join(Object.keys(key).map((name) => sql.ref(`t.${name}`)))
  const besides = only ? sql`and ${only(before)}` : sql``
  const { rows } = await sql<OldCount>`
    with looked as materialized (
      select t.* from ${sql.table(table)} t where ${old(before)} order by ${order} limit ${max}::int
    )
    select count(*)::int as count, (select count(*) from looked) < ${max}::int as is_all, min(w.at) as oldest_at
    from (select ${at} as at from looked t where true ${besides}) w
  `.execute(db)
  return rows[0] ?? { count: 0, is_all: true, oldest_at: null }
}

/** For how many days workers keep what has a setting, by part, as whoever has looked last has it. */
export async function listRetentionDays(db: Db): Promise<Map<string, number>> {
  const rows = await db.selectFrom('retention_parts').select(['name', 'days']).execute()
  return new Map(rows.flatMap(({ name, days }) => (days === null ? [] : [[name, days] as const])))
}

/** The time of Postgres: the clock of the machine on which somebody gives a command may be off. */
export async function readRetentionTime(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select statement_timestamp() as now`.execute(db)
  const [row] = rows
  if (!row) throw new Error('Postgres has not said what time it is')
  return row.now
}
