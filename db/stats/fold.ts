// Folds changes of statistics into the counts of their hours, and deletes what is older than they are kept.
import { sql } from 'kysely'
import { limits } from '../../rules/limits.ts'
import { OTHER_GROUP } from '../../rules/stats.ts'
import type { Trx } from '../connect.ts'
import { addedCounts, countColumns, groupsOf, sumsOf } from './groups.ts'

/**
 * Folds the oldest changes, of all workspaces: in one statement, so each is counted once whenever this ends. Any number of workers may do
 * it; those that another one folds are passed over. Rows are written in the order of their keys, so none waits for another in a circle.
 * @returns how many changes it folded
 */
export async function foldEmailStats(trx: Trx, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with gone as (
      delete from email_stat_changes where id in (
        select id from email_stat_changes order by id limit ${limit}::int for update skip locked)
      returning *
    ), spread as (
      select g.workspace_id, v.kind, g.hour, g.domain_id, v.value, ${sumsOf('g')}
      from gone g cross join lateral (${groupsOf('g')}) v
      group by 1, 2, 3, 4, 5
    ), known as (
      select s.*, (s.kind = 'domain' or s.value = ${OTHER_GROUP} or coalesce((
        select true from email_stats k where k.workspace_id = s.workspace_id and k.kind = s.kind and k.hour = s.hour
          and k.domain_id = s.domain_id and k.value = s.value limit 1), false)) as is_known
      from spread s
    ), placed as (
      select k.*, case when k.is_known or r.taken + row_number() over (
          partition by k.workspace_id, k.kind, k.hour, k.is_known order by k.domain_id, k.value
        ) <= ${limits.statGroupsPerHourMax}::int then k.value else ${OTHER_GROUP} end as place
      from known k cross join lateral (
        select count(*) as taken from (
          select from email_stats t
          where not k.is_known and t.workspace_id = k.workspace_id and t.kind = k.kind and t.hour = k.hour
          limit ${limits.statGroupsPerHourMax}::int) counted
      ) r
    ), folded as (
      insert into email_stats as e (workspace_id, kind, hour, domain_id, value, ${countColumns})
      select p.workspace_id, p.kind, p.hour, p.domain_id, p.place, ${sumsOf('p')} from placed p
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
