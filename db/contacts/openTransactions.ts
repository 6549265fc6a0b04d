// Finds the transactions that may not know yet that a contact is gone, and may write what they have read before.
import { sql } from 'kysely'
import type { Trx } from '../connect.ts'

/** Only reads, and may take hours. */
const DUMP = 'pg_dump'

/** One of them, and whose it is. */
export interface OpenTransaction {
  virtualxid: string
  pid: number
  application_name: string
}

/**
 * The transactions of the database that are open now, but for the caller's own, autovacuum and dumps. Each holds the lock on
 * its own from its begin on (PostgreSQL documentation, Transactions and Identifiers), so those too are found that have written nothing yet:
 * such a one has no other id, and `pg_current_snapshot` does not know it.
 * @param among of these virtual ids alone; null: of all. Ids of before a restart of the server, or of another cluster, may be those of others by now, for
 *   which the caller then waits in vain, and not for long
 */
export async function listOpenTransactions(
  trx: Trx,
  among: readonly string[] | null,
): Promise<OpenTransaction[]> {
  const { rows } = await sql<OpenTransaction>`
    select coalesce(l.virtualxid, '') as virtualxid, coalesce(a.pid, 0) as pid, coalesce(a.application_name, '') as application_name
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'virtualxid' and l.mode = 'ExclusiveLock' and a.pid <> pg_backend_pid()
      and a.datname = current_database() and a.usesysid is not null and a.application_name is distinct from ${DUMP}
      and (${among === null}::boolean or l.virtualxid = any(${[...(among ?? [])]}::text[]))
    order by l.virtualxid
  `.execute(trx)
  return rows
}
