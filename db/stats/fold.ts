// Folds changes of statistics into the counts of their hours, and deletes what is older than they are kept.
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
 * `lockFolding`.
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

/** Deletes counts of hours before one, and firsts of before it, some of each. @returns how many rows */
export async function deleteOldEmailStats(
  trx: Trx,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with stats as (
      delete from email_stats where ctid = any(array(
        select s.ctid from email_stats s where s.hour < stat_hour(${before}::timestamptz) limit ${limit}::int
        for update skip locked))
      returning hour
    ), firsts as (
      delete from email_firsts where ctid = any(array(
        select f.ctid from email_firsts f where f.at < ${before}::timestamptz limit ${limit}::int
        for update skip locked))
      returning kind
    )
    select ((select count(*) from stats) + (select count(*) from firsts))::int as count
  `.execute(trx)
  return rows[0]?.count ?? 0
}
