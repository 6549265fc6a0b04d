// Soft bounces: an address that fails on several days, without a delivery between them, is suppressed for a while.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { Trx } from '../connect.ts'
import type { Param } from '../prepared.ts'

const SUPPRESSED_FOR = `${limits.softBounceSuppressedDays} days`

/**
 * The rule as steps of a `with`, which must begin with a relation `soft (workspace_id, email, email_id, at)`,
 * email in lower case. They make the relation `soft_last` of addresses to suppress, with `until`, and delete their
 * counted days.
 */
export const softBounceSteps = sql`
  soft_days as (
    select distinct on (workspace_id, email, day) * from (
      select workspace_id, email, email_id, at, (at at time zone 'UTC')::date as day from soft
    ) given order by workspace_id, email, day, at
  ),
  soft_last as (
    select workspace_id, email, email_id, at + ${SUPPRESSED_FOR}::interval as until
    from soft_days s
    where ${limits.softBounceDays} <= 1 + (select count(*) from soft_bounces b
      where b.workspace_id = s.workspace_id and b.email = s.email and b.day <> s.day
        and b.cleared_by is null)
  ),
  soft_counted as (
    insert into soft_bounces (workspace_id, email, day)
    select workspace_id, email, day from soft_days s
    where not exists (
      select 1 from soft_last l where l.workspace_id = s.workspace_id and l.email = s.email)
    on conflict (workspace_id, email, day) do update set cleared_by = null
    where soft_bounces.cleared_by is not null
  ),
  soft_forgotten as (
    delete from soft_bounces b using soft_last l
    where b.workspace_id = l.workspace_id and b.email = l.email
  )`

/**
 * Writes the relation `to_suppress (workspace_id, email, email_id, until)` to the suppression list; `until` null
 * means permanently. A stored suppression is replaced only by a longer one, and keeps its place in the list; an expired one is listed as new.
 */
export function insertSuppressions(now: Param<Date>) {
  return sql`
    insert into suppressions (workspace_id, email, reason, source_id, created_at, expires_at)
    select distinct on (workspace_id, email)
      workspace_id, email, 'bounce', email_id, ${now}::timestamptz, until
    from to_suppress order by workspace_id, email, until desc nulls first
    on conflict (workspace_id, email) do update
    set reason = excluded.reason, source_id = excluded.source_id, expires_at = excluded.expires_at,
        created_at = case when suppressions.expires_at <= excluded.created_at then excluded.created_at
          else suppressions.created_at end
    where suppressions.expires_at is not null
      and (excluded.expires_at is null or excluded.expires_at > suppressions.expires_at)`
}

/**
 * Counts a final soft bounce that a report brought, by the same rule as one in an SMTP session. The email counted
 * as delivered before (a relay accepts everything), so soft bounces that this delivery had cleared count again.
 * @returns whether it suppressed the address
 */
export async function recordSoftBounce(
  trx: Trx,
  bounce: { workspaceId: WorkspaceId; email: string; emailId: string; at: Date },
): Promise<boolean> {
  await trx
    .updateTable('soft_bounces')
    .set({ cleared_by: null })
    .where('workspace_id', '=', bounce.workspaceId)
    .where('email', '=', bounce.email.toLowerCase())
    .where('cleared_by', '=', bounce.emailId)
    .execute()
  const { rows } = await sql`
    with soft as (
      select ${bounce.workspaceId}::text as workspace_id, lower(${bounce.email}) as email,
        ${bounce.emailId}::text as email_id, ${bounce.at}::timestamptz as at
    ), ${softBounceSteps},
    to_suppress as (select * from soft_last),
    suppressed as (${insertSuppressions(bounce.at)})
    select 1 from soft_last
  `.execute(trx)
  return rows.length > 0
}
