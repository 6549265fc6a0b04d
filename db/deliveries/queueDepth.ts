// How much mail waits, and since when: a bounded look at the queue of each shard, for metrics and operators.
import { sql } from 'kysely'
import { limits } from '../../rules/limits.ts'
import type { UnderWayState, WaitingState } from '../../rules/states.ts'
import type { Db } from '../connect.ts'

/** Rows that are counted of one shard at most, so that a look at a long queue stays cheap. */
export const QUEUE_COUNTED_MAX = 5_000
const LEASED_COUNTED_MAX = 20_000

export interface QueueDepth {
  shard: number
  state: WaitingState | UnderWayState
  /** Of a shard's waiting ones no more than QUEUE_COUNTED_MAX are counted, those due first. */
  count: number
  /** How long the first of them has been due, seconds; 0 when it is due later, or under way. */
  oldest_s: number
}

/** The shards and states that have deliveries. */
export async function listQueueDepths(db: Db, now: Date): Promise<QueueDepth[]> {
  const { rows } = await sql<QueueDepth>`
    with waiting as (
      select s.shard, state, count(*) as count,
        greatest(0, extract(epoch from ${now}::timestamptz - min(next_at)))::float8 as oldest_s
      from generate_series(0, ${limits.shards - 1}::int) as s (shard) cross join lateral (
        select state, next_at from deliveries
        where shard = s.shard and lease_until is null and settled_at is null
        order by next_at limit ${QUEUE_COUNTED_MAX}
      ) of_shard group by s.shard, state
    ), leased as (
      select shard, state, count(*) as count, 0::float8 as oldest_s
      from (select shard, state from deliveries
        where lease_until is not null limit ${LEASED_COUNTED_MAX}) held
      group by shard, state
    )
    select shard, state, count, oldest_s from waiting
    union all select shard, state, count, oldest_s from leased
  `.execute(db)
  return rows
}
