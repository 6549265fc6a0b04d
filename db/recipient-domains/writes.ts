// Writes what direct delivery has learned about the domains of recipients: whether the DNS knows them; and forgets those without mail.

import { sql } from 'kysely'
import {
  type Missing,
  REMEMBERED_AGAIN_MS,
  REMEMBERED_MS,
  REMEMBERED_WITHOUT_DESTINATION_MS,
} from '../../rules/mail/recipientDomains.ts'
import type { Trx } from '../connect.ts'

/** A domain that the DNS did not know at `lastAt`. */
interface MissingDomain extends Missing {
  domain: string
}

/**
 * Notes that the DNS did not know these domains. One that was found since it was read is missing since `lastAt`; of what
 * another lane has noted within a day nothing is written.
 */
export async function upsertMissingDomains(
  trx: Trx,
  missing: readonly MissingDomain[],
): Promise<void> {
  const domains = missing.map(({ domain }) => domain)
  const since = missing.map((one) => one.since)
  const lastAt = missing.map((one) => one.lastAt)
  await sql`
    insert into recipient_domains as r (domain, nx_since, looked_up_at)
    select * from unnest(${domains}::text[], ${since}::timestamptz[], ${lastAt}::timestamptz[])
      as given (domain, since, last_at) order by domain
    on conflict (domain) do update
    set nx_since = case when r.nx_since is null then excluded.looked_up_at else excluded.nx_since end,
        looked_up_at = excluded.looked_up_at
    where r.nx_since is null
      or r.looked_up_at <= excluded.looked_up_at - ${REMEMBERED_AGAIN_MS}::float8 * interval '1 millisecond'
  `.execute(trx)
}

/** Notes that the DNS knows these domains. Nothing is written of those of which nothing else was noted. */
export async function updateFoundDomains(
  trx: Trx,
  domains: readonly string[],
  now: Date,
): Promise<void> {
  await sql`
    with back as (
      select domain from recipient_domains
      where domain = any(${[...domains]}::text[]) and nx_since is not null
      order by domain for update
    )
    update recipient_domains r set nx_since = null, looked_up_at = ${now}
    from back where r.domain = back.domain
  `.execute(trx)
}

/**
 * Deletes what was not used for long among the next `limit` domains after one, in the order of their names: the table has
 * no index for more, and needs none. Rows that others have locked are in use.
 * @param after '' at first
 * @returns how many were deleted, and the last one that was looked at; null at the end
 */
export async function deleteUnusedDomains(
  trx: Trx,
  { after, limit, now }: { after: string; limit: number; now: Date },
): Promise<{ count: number; last: string | null }> {
  const before = (kept_ms: number) => new Date(now.getTime() - kept_ms)
  const { rows } = await sql<{ count: number; last: string | null }>`
    with page as materialized (
      select domain from recipient_domains where domain > ${after} order by domain limit ${limit}::int
    ), unused as materialized (
      select r.domain from recipient_domains r
      where r.domain in (select domain from page)
        and r.looked_up_at < case when r.destination is null
          then ${before(REMEMBERED_WITHOUT_DESTINATION_MS)}::timestamptz
          else ${before(REMEMBERED_MS)}::timestamptz end
      order by r.domain for update skip locked
    ), deleted as (
      delete from recipient_domains r using unused where r.domain = unused.domain returning r.domain
    )
    select (select count(*)::int from deleted) as count,
      case when (select count(*) from page) = ${limit}::int then (select max(domain) from page) end as last
  `.execute(trx)
  return rows[0] ?? { count: 0, last: null }
}
