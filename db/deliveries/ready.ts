// Makes deliveries ready whose time has come, so that they stand in their lines.

import { sql } from 'kysely'
import type { Trx } from '../connect.ts'
import { domainOf, isLater } from './guards.ts'
import type { ShardRange } from './lines.ts'

/**
 * Makes deliveries of a range of shards ready that are due: of each shard up to `perShard`, earliest first, so that none
 * waits for what has become due in another one. Where a domain's destination was learned since, they get it. Rows that
 * others have locked are left for the next call.
 * @returns how many, and whether a shard may have more
 */
export async function readyDue(
  trx: Trx,
  shards: ShardRange,
  now: Date,
  perShard: number,
): Promise<{ count: number; more: boolean }> {
  // Planned at each call (it begins with a comment, so it gets no name): a plan for an empty queue is slow for a long one.
  const { rows } = await sql<{ count: number; most: number }>`
    /* ready */ with due as materialized (
      select due.*, s.shard as of_shard from generate_series(${shards.from}::int, ${shards.to - 1}::int) as s (shard)
      cross join lateral (
        select id, recipient from deliveries
        where shard = s.shard and ${isLater} and next_at <= ${now}
        order by next_at limit ${perShard}::int
        for update skip locked
      ) due
    ), readied as (
      update deliveries d
      set ready = true, destination = coalesce(r.destination, d.destination), shard = coalesce(r.shard, d.shard)
      from due left join recipient_domains r
        on r.domain = ${domainOf(sql`due.recipient`)} and r.shard is not null
      where d.id = due.id
      returning due.of_shard
    ), counts as (
      select count(*)::int as count from readied group by of_shard
    )
    select coalesce(sum(count), 0)::int as count, coalesce(max(count), 0) as most from counts
  `.execute(trx)
  const [found] = rows
  return { count: found?.count ?? 0, more: (found?.most ?? 0) >= perShard }
}
