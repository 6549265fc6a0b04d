// Counts what is too old to be kept, and reads how long workers keep it.
import { sql } from 'kysely'
import type { Db } from '../connect.ts'
import type { RetentionPart } from './parts.ts'

export interface RetentionCount {
  count: number
  /** null: there is none. */
  oldest_at: Date | null
}

/** How many rows would be deleted now, counted up to `max`, and how old the oldest is. */
export async function countRetained(
  db: Db,
  { table, key, old, only, at }: RetentionPart,
  { before, max }: { before: Date; max: number },
): Promise<RetentionCount> {
  const order = sql.join(Object.keys(key).map((name) => sql.ref(`t.${name}`)))
  const besides = only ? sql`and ${only(before)}` : sql``
  const { rows } = await sql<RetentionCount>`
    select count(*)::int as count, min(w.at) as oldest_at from (
      select ${at} as at from ${sql.table(table)} t
      where ${old(before)} ${besides} order by ${order} limit ${max}::int) w
  `.execute(db)
  return rows[0] ?? { count: 0, oldest_at: null }
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
