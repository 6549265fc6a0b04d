// Analyzes tables that have grown, before autovacuum comes to it.
import { sql } from 'kysely'
import type { Trx } from './connect.ts'

/** A smaller table is read as fast in any way. */
const ROWS_MIN = 100
/** So long a table may take; a larger sample is left to autovacuum. */
const ANALYZE_MS_MAX = 10_000

/**
 * Lists the tables that were never analyzed, or have twice as many rows as when Postgres last looked. Autovacuum analyzes them too, but a
 * minute or more after a new table was filled. Until then plans are made, and kept, for a table of another size: a look-up by the id of
 * an execution would read the index of all that are live. A table comes here once for each time that it doubles.
 */
export async function listGrown(db: Trx): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select s.relname::text as name from pg_stat_user_tables s join pg_class c on c.oid = s.relid
    where s.schemaname = current_schema() and c.relkind = 'r' and pg_has_role(c.relowner, 'usage')
      and s.n_live_tup >= ${sql.lit(ROWS_MIN)}
      and (s.n_live_tup >= 2 * greatest(c.reltuples, 1) or coalesce(s.last_analyze, s.last_autoanalyze) is null)
    order by s.relname`.execute(db)
  return rows.map(({ name }) => name)
}

/** Analyzes a table, unless somebody holds it, such as another worker that does the same. */
export async function analyze(trx: Trx, table: string): Promise<void> {
  await sql`select set_config('statement_timeout', ${String(ANALYZE_MS_MAX)}, true)`.execute(trx)
  await sql`analyze (skip_locked) ${sql.table(table)}`.execute(trx)
}
