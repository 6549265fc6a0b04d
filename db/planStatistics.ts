// What Postgres knows of the tables by which it plans, while they grow.
import { sql } from 'kysely'
import type { Db } from './connect.ts'

/** A smaller table is read as fast in any way. */
const ROWS_MIN = 100

/**
 * Has Postgres look at the tables that have twice as many rows as when it last did (`analyze`). Autovacuum does so too, but a minute or more
 * after a new table was filled: until then each lookup by two columns may read all that have one of them, which is
 * every contact of a workspace. Each table is looked at once for each time that it doubles.
 * @returns the tables that were looked at
 */
export async function analyzeGrown(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select s.relname::text as name from pg_stat_user_tables s join pg_class c on c.oid = s.relid
    where s.schemaname = current_schema() and s.n_live_tup >= ${sql.lit(ROWS_MIN)}
      and s.n_live_tup >= 2 * greatest(c.reltuples, 1)
    order by s.relname`.execute(db)
  // One that another worker is looking at is passed.
  for (const { name } of rows) await sql`analyze (skip_locked) ${sql.table(name)}`.execute(db)
  return rows.map(({ name }) => name)
}
