// Makes deliveries ready whose time has come, so that they stand in their lines.

import { sql } from 'kysely'
import type { Trx } from '../connect.ts'
import { isLater } from './guards.ts'
import type { ShardRange } from './lines.ts'
import { readySteps } from './scheduled.ts'

/**
 * Makes deliveries of a range of shards ready that are due: of each shard up to `perShard`, earliest first, so that none
 * waits for what has become due in another one. Where a domain's destination was learned since, they get it. Of those that were
 * scheduled the event `sent` is written. Rows that others have locked are left for the next call.
 * @returns how many, whether a shard may have more, whether some stand in another shard now, and whether automation contacts are told
 */
export async function readyDue(
  trx: Trx,
  shards: ShardRange,
  now: Date,
  perShard: number,
): Promise<{ count: number; more: boolean; moved: boolean; told: boolean }> {
  // Planned at each call (it begins with a comment, so it gets no name): a plan for an empty queue is slow for a long one.
  const { rows } = await sql<{ count: number; most: number; moved: boolean; told: boolean }>`
    /* ready */ with due as materialized (
      select due.*, s.shard as of_shard from generate_series(${shards.from}::int, ${shards.to - 1}::int) as s (shard)
      cross join lateral (
        select id, recipient, scheduled from deliveries
        where shard = s.shard and ${isLater} and next_at <= ${now}
        order by next_at limit ${perShard}::int
        for update skip locked
      ) due
    ), ${readySteps(now)}, counts as (
      select count(*)::int as count, bool_or(shard <> of_shard) as moved from readied group by of_shard
    )
    select coalesce(sum(count), 0)::int as count, coalesce(max(count), 0) as most,
      coalesce(bool_or(moved), false) as moved, exists (select from told) as told
    from counts
  `.execute(trx)
  const [found] = rows
  return {
    count: found?.count ?? 0,
    more: (found?.most ?? 0) >= perShard,
    moved: found?.moved ?? false,
    told: found?.told ?? false,
  }
}
