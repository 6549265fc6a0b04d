// A fingerprint of all tables, to check that nothing was written.
import { sql } from 'kysely'
import type { Db } from '../../db/connect.ts'

/** Row count and hash of every table, without `last_used_at` of API keys, which any request may change. */
export async function describeTables(db: Db): Promise<string> {
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = 'public' order by tablename
  `.execute(db)
  const parts = rows.map(
    ({ name }) => sql`
      select ${name}::text as name, count(*)::int as rows, md5(coalesce(string_agg(row, '|' order by row), ''))
        as hash
      from (select (to_jsonb(t) - 'last_used_at')::text as row from ${sql.table(name)} t) as ${sql.ref(name)}`,
  )
  const found = await sql<{ name: string; rows: number; hash: string }>`
    ${sql.join(parts, sql` union all `)}
  `.execute(db)
  // Postgres may read the parts at once, and then gives them in the order in which they are done.
  const lines = found.rows.map(({ name, rows: count, hash }) => `${name} ${count} ${hash}`)
  return lines.sort().join('\n')
}
