// Folds changes of statistics into the counts of their hours.
import { sql } from 'kysely'
import type { Trx } from '../connect.ts'
import { addedCounts, countColumns, placedSteps, sumsOf } from './groups.ts'

/** The advisory lock of whoever folds. */
const FOLD_LOCK = 0x666f6c64
/** How long a frozen worker can keep others from folding. */
const IDLE_MAX = '10s'

/**
 * Makes this transaction the only one that folds: changes are folded in their order, since those that come first get the room of their
 * hour. Postgres ends it if it is idle for ten seconds.
 * @returns false if another one folds
 */
export async function lockFolding(trx: Trx): Promise<boolean> {
  const { rows } = await sql<{ ours: boolean; set_config: string }>`
    select pg_try_advisory_xact_lock(${FOLD_LOCK}::bigint) as ours,
      set_config('idle_in_transaction_session_timeout', ${IDLE_MAX}, true)
  `.execute(trx)
  return rows[0]?.ours ?? false
}

/**
 * Folds the oldest changes, of all workspaces: in one statement, so each is counted once whenever this ends. The caller has the lock of
 * `lockFolding`. What an erasure holds is passed over, so that nobody's statistics wait for it.
 * @returns how many changes it folded
 */
export async function foldEmailStats(trx: Trx, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with gone as (
      delete from email_stat_changes where id in (
        select id from email_stat_changes order by id limit ${limit}::int for update skip locked)
      returning *
    ), ${placedSteps({ from: sql`gone g`, where: sql`true` })}, folded as (
      insert into email_stats as e (workspace_id, kind, hour, domain_id, value, ${countColumns})
      select p.workspace_id, p.kind, p.hour, p.domain_id, p.shown, ${sumsOf('p')} from placed p
      group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
      on conflict (workspace_id, kind, hour, domain_id, value) do update set ${addedCounts}
    )
    select count(*)::int as count from gone
  `.execute(trx)
  return rows[0]?.count ?? 0
}
