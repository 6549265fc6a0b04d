// How much processor time a Postgres server has used for others than the benchmark itself.
import { type Kysely, sql } from 'kysely'
import { childrenOf, processorTimeOf } from './processorTime.ts'

/**
 * Seconds of all processes of a server but for those of the connections of this handle and others of its name.
 * @param postmaster the server's pid
 */
export async function postgresTime<T>(db: Kysely<T>, postmaster: number): Promise<number> {
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity
    where application_name = (select application_name from pg_stat_activity where pid = pg_backend_pid())`.execute(
    db,
  )
  const own = new Set(rows.map(({ pid }) => pid))
  const backends = childrenOf(postmaster).filter((pid) => !own.has(pid))
  return [postmaster, ...backends].reduce((sum, pid) => sum + processorTimeOf(pid), 0)
}
