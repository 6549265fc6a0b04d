// Counts how much mail waits in each shard and how long, for metrics and operators. The counts are bounded.
import { sql } from 'kysely'
import { limits } from '../../rules/limits.ts'
import { classPlaces } from '../../rules/mail/classes.ts'
import type { UnderWayState, WaitingState } from '../../rules/states.ts'
import type { Db } from '../connect.ts'
import { isInLine, isLater } from './guards.ts'

/** The most rows that are counted for one shard, so that a long queue is cheap to count. */
export const QUEUE_COUNTED_MAX = 5_000
/** So many of the deliveries that were claimed last are looked at; one that is under way and was claimed before them is not counted. */
const LEASED_COUNTED_MAX = 20_000

export interface QueueDepth {
  shard: number
  state: WaitingState | UnderWayState
  /**
   * Of all shards together, those under way among the LEASED_COUNTED_MAX that were claimed last.
   * Of a shard's waiting deliveries at most QUEUE_COUNTED_MAX are counted: what stands in lines first. Scheduled mail counts when it is
   * due, and takes a place among those that are looked at before.
   */
  count: number
  /** How long the first of those counted has been due, in seconds; 0 if it is due later or under way. */
  oldest_s: number
}

/** Counts for every shard and state that has deliveries. It is planned each time: while the queue is empty, any index looks as good. */
export async function listQueueDepths(db: Db, now: Date): Promise<QueueDepth[]> {
  const { rows } = await sql<QueueDepth>`
    /* depths */ with waiting as (
      select s.shard, state, count(*) as count,
        greatest(0, extract(epoch from ${now}::timestamptz - min(next_at)))::float8 as oldest_s
      from generate_series(0, ${limits.shards - 1}::int) as s (shard) cross join lateral (
        (select d.state, d.next_at from unnest(${[...classPlaces]}::smallint[]) as c(class)
        cross join lateral (
          select state, next_at from deliveries
          where class = c.class and shard = s.shard and ${isInLine}
          limit ${QUEUE_COUNTED_MAX}
        ) d limit ${QUEUE_COUNTED_MAX})
        union all
        (select l.state, l.next_at from (
          select state, next_at, scheduled from deliveries
          where shard = s.shard and ${isLater}
          order by next_at limit ${QUEUE_COUNTED_MAX}
        ) l where not l.scheduled or l.next_at <= ${now}::timestamptz)
        limit ${QUEUE_COUNTED_MAX}
      ) of_shard group by s.shard, state
    ), leased as (
      select shard, state, count(*) as count, 0::float8 as oldest_s
      from (select distinct d.id, d.shard, d.state
        from (select c.token, unnest(c.ids) as id from (
          select token, ids from delivery_claims order by until desc limit ${LEASED_COUNTED_MAX}
        ) c limit ${LEASED_COUNTED_MAX}) c
        cross join lateral (
          select id, shard, state, lease_token, lease_until from deliveries where id = c.id offset 0
        ) d
        where d.lease_token = c.token and d.lease_until is not null) held
      group by shard, state
    )
    select shard, state, count, oldest_s from waiting
    union all select shard, state, count, oldest_s from leased
  `.execute(db)
  return rows
}
