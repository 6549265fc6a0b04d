// Reads statistics of mail: the counts of hours, and what is not folded into them yet, so they are exact at every moment.
import { sql } from 'kysely'
import type { Reach } from '../../rules/reach.ts'
import {
  type StatCount,
  type StatGroup,
  type StatHours,
  type StatInterval,
  statCounts,
  statIntervals,
} from '../../rules/stats.ts'
import type { Db } from '../connect.ts'
import { countColumns, placedSteps, sumsOf } from './groups.ts'

/** Of each bucket. */
const isSomething = sql.join(
  statCounts.map((name) => sql`sum(${sql.ref(`c.${name}`)}) > 0`),
  sql` or `,
)

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
 * Buckets in which something was counted, by time and then by group. One statement, so a change is either folded or read by itself, and
 * under the same value (`placedSteps`).
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
    with ${placedSteps({ from: sql`email_stat_changes g`, where: isAsked('g') }, kind)}
    select c.hour - c.hour % ${per}::int as hour, ${shown} as value, ${sumsOf('c')}
    from (
      select s.hour, s.domain_id, s.value, ${countColumns} from email_stats s
      where ${isAsked('s')} and s.kind = ${kind}
      union all
      select p.hour, p.domain_id, p.shown as value, ${countColumns} from placed p
    ) c
    group by 1, 2
    having ${isSomething}
    order by 1, 2 limit ${limit}::int
  `.execute(db)
  return rows
}
