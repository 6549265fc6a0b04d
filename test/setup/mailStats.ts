// Counts mail by what stands in the ledger, row by row, as statistics must count it.
import { sql } from 'kysely'
import type { Db } from '../../db/connect.ts'
import type { StatsRow } from '../../db/stats/reads.ts'
import type { Reach } from '../../rules/reach.ts'
import { type StatGroup, type StatInterval, statCounts, statIntervals } from '../../rules/stats.ts'

/** What happened to one recipient. */
export interface Happened {
  count: (typeof statCounts)[number]
  hour: number
  domain_id: string
  workflow_id: string | null
  provider: string | null
  tags: Record<string, string>
}

const HOUR = sql`3600`

/** All that counts, one row each, in plain SQL over emails, deliveries, email events, complaints and automation events. */
export async function listHappened(db: Db, { workspaceId, domainId }: Reach): Promise<Happened[]> {
  const { rows } = await sql<Happened>`
    select h.count, floor(extract(epoch from h.at) / ${HOUR})::int as hour, m.domain_id, m.workflow_id, d.provider, m.tags
    from (
      select 'accepted' as count, created_at as at, id as delivery_id from deliveries
      union all
      select case when v.status = 'bounced' and v.data->>'subtype' = 'OnAccountSuppressionList' then 'suppressed'
          else v.status end, v.at, d.id
      from email_events v join deliveries d on d.email_id = v.email_id and d.recipient = v.recipient
      where v.status in ('sent', 'delivered', 'bounced')
        and coalesce(v.data->>'subtype', '') not in ('Unsubscribed', 'Cancelled', 'DomainDeleted', 'DomainNotVerified')
      union all
      select v.status, min(v.at), d.id
      from email_events v join deliveries d on d.email_id = v.email_id and d.recipient = v.recipient
      where v.status in ('opened', 'clicked') and v.machine is null group by v.status, d.id
      union all
      select 'complained', at, delivery_id from complaints
      union all
      select 'unsubscribed', min(v.at), d.id
      from automation_events v
      join deliveries d on d.email_id = v.properties->>'email_id' and lower(d.recipient) = v.email
      where v.event_name = 'email.unsubscribed' group by d.id
    ) h
    join deliveries d on d.id = h.delivery_id join emails m on m.id = d.email_id
    where m.workspace_id = ${workspaceId}
  `.execute(db)
  return rows.filter(({ domain_id }) => domainId === null || domain_id === domainId)
}

function groupsOf(row: Happened, group: StatGroup | null): string[] {
  if (group === 'tag') {
    return [...new Set(Object.entries(row.tags).map(([key, value]) => `${key}:${value}`))]
  }
  if (group === 'domain') return [row.domain_id]
  if (group === 'workflow') return row.workflow_id === null ? [] : [row.workflow_id]
  if (group === 'provider') return [row.provider ?? 'other']
  return group === 'broadcast' ? [] : ['']
}

/** The buckets that statistics must have of it, in their order. */
export function countLedger(
  happened: readonly Happened[],
  { interval, group }: { interval: StatInterval; group: StatGroup | null },
): StatsRow[] {
  const buckets = new Map<string, StatsRow>()
  for (const row of happened) {
    const hour = row.hour - (row.hour % statIntervals[interval])
    for (const value of groupsOf(row, group)) {
      const key = `${hour} ${value}`
      const none = Object.fromEntries(statCounts.map((name) => [name, 0]))
      const bucket = buckets.get(key) ?? ({ hour, value, ...none } as StatsRow)
      bucket[row.count] += 1
      buckets.set(key, bucket)
    }
  }
  return [...buckets.values()].sort(
    (a, b) => a.hour - b.hour || (a.value < b.value ? -1 : a.value > b.value ? 1 : 0),
  )
}
