// Keeps a transaction from holding its locks when its process freezes.
import { sql } from 'kysely'
import type { Trx } from './connect.ts'

/**
 * Lets Postgres end this transaction (25P03) if it stands still for so long between two statements, because its process
 * is frozen or gone: what it holds is then held from nobody.
 * @param most a time of Postgres, such as `10s`
 */
export async function endWhenIdle(trx: Trx, most: string): Promise<void> {
  await sql`select set_config('idle_in_transaction_session_timeout', ${most}, true)`.execute(trx)
}
