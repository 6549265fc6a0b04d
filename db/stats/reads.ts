// Reads statistics of mail: the counts of hours, and what is not folded into them yet, so they are exact at every moment.
import { sql } from 'kysely'
import { limits } from '../../rules/limits.ts'
import type { Reach } from '../../rules/reach.ts'
import {
  OTHER_GROUP,
  type StatCount,
  type StatGroup,
  type StatHours,
  type StatInterval,
  statCounts,
  statIntervals,
} from '../../rules/stats.ts'
import type { Db } from '../connect.ts'
import { countColumns, groupsOf, sumsOf } from './groups.ts'

/** Of each bucket. */
const isSomething = sql.join(
  statCounts.map((name) => sql`sum(${sql.ref(`c.${name}`)}) > 0`),
  sql` or `,
)

/** Where a value of the changes `g` is shown. */
function placeOf(kind: StatGroup) {
  if (kind === 'domain') return sql`g.value`
  const ofHour = sql`t.workspace_id = g.workspace_id and t.kind = ${kind} and t.hour = g.hour`
  return sql`case when coalesce((select true from email_stats t
        where ${ofHour} and t.domain_id = g.domain_id and t.value = g.value limit 1), false)
      or ${limits.statGroupsPerHourMax}::int > (select count(*) from (
        select from email_stats t where ${ofHour} limit ${limits.statGroupsPerHourMax}::int) counted)
      then g.value else ${OTHER_GROUP} end`
}

/** What is asked for. */
export interface StatsAsked {
  hours: StatHours
  interval: StatInterval
  /** null: all mail together. */
  group: StatGroup | null
  limit: number
}

/** One bucket. */
export type StatsRow = Record<StatCount, number> & {
  /** The first hour of the bucket, in hours since 1970 (UTC). */
  hour: number
  value: string
}

/**
 * Buckets in which something was counted, by time and then by group. One statement, so a change is either folded or read by itself.
 * A value that is not folded yet is shown apart while its hour has room for one more; where several come at once and only some fit, the
 * fold puts the others into `other` afterwards. The sums never change.
 */
export async function listEmailStats(
  db: Db,
  { workspaceId, domainId }: Reach,
  { hours, interval, group, limit }: StatsAsked,
): Promise<StatsRow[]> {
  const kind = group ?? 'domain'
  const per = statIntervals[interval]
  const shown = group === 'domain' ? sql`c.domain_id` : sql`c.value`
  const isAsked = (row: 's' | 'g') => {
    const column = (name: string) => sql.ref(`${row}.${name}`)
    const ofDomain = domainId === null ? sql`true` : sql`${column('domain_id')} = ${domainId}`
    return sql`${column('workspace_id')} = ${workspaceId} and ${column('hour')} >= ${hours.from}::int
        and ${column('hour')} < ${hours.to}::int and ${ofDomain}`
  }
  const { rows } = await sql<StatsRow>`
    select c.hour - c.hour % ${per}::int as hour, ${shown} as value, ${sumsOf('c')}
    from (
      select s.hour, s.domain_id, s.value, ${countColumns} from email_stats s
      where ${isAsked('s')} and s.kind = ${kind}
      union all
      select g.hour, g.domain_id, ${placeOf(kind)} as value, ${countColumns}
      from (
        select g.workspace_id, g.hour, g.domain_id, v.value, ${sumsOf('g')}
        from email_stat_changes g cross join lateral (${groupsOf('g', kind)}) v
        where ${isAsked('g')} group by 1, 2, 3, 4
      ) g
    ) c
    group by 1, 2
    having ${isSomething}
    order by 1, 2 limit ${limit}::int
  `.execute(db)
  return rows
}
