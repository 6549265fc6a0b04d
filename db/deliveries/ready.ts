// Makes deliveries ready whose time has come, so that they stand in their lines.

import { sql } from 'kysely'
import type { Trx } from '../connect.ts'
import { prepare } from '../prepared.ts'
import { isFreeById, isLater, type LaneEpoch, ownsLane } from './guards.ts'
import { type InLine, inMs, type ShardRange } from './lines.ts'
import { dueColumns, readySteps, type SendRights } from './scheduled.ts'

/** What one call is asked for. */
export interface ReadyAsked {
  /** How much of each shard is taken in order of time. */
  perShard: number
  rights: SendRights
  /** Shards in which more was due than one call takes: of each the workspace after which the walk through all of them begins. */
  crowded?: ReadonlyMap<number, string>
  /** Who asks: once a newer owner has taken the lane nothing is made ready, of which that one would not know. Absent: without that look. */
  owner?: LaneEpoch
  /** What became due before was made ready by a call before, so that nothing of it is looked at. Absent: all of it is. */
  since?: Date
}

export interface Readied {
  /** How many were looked at whose time has come. */
  count: number
  /** What stands in line now. */
  rows: InLine[]
  /** Whether automation contacts are told. */
  told: boolean
  /** Shards that may have more: each with the workspace after which the next walk begins, '' for the first. */
  crowded: Map<number, string>
}

/** Of one workspace of a crowded shard at a time. */
const PER_WORKSPACE = 10
/** Workspaces that the walks of one statement through crowded shards look at: those of one, and at least so many of each. */
const STEPS_MAX = 100
const STEPS_MIN = 5
const stepsOf = (crowded: ReadonlyMap<number, string>) =>
  Math.max(STEPS_MIN, Math.floor(STEPS_MAX / Math.max(1, crowded.size)))

/**
 * A step `walk` of a `with recursive`: of crowded shards the ids of what is due, some of each workspace from the last one on. It is read in an
 * order that the index of the turns alone has, so that no plan reads what all others have.
 */
const turnSteps = (crowded: ReadonlyMap<number, string>, now: Date) => sql`walk as (
      select c.shard, 0 as n, c.after collate "C" as workspace_id, '{}'::bigint[] as ids
      from unnest(${[...crowded.keys()]}::smallint[], ${[...crowded.values()]}::text[]) as c (shard, after)
      union all
      select w.shard, w.n + 1, next.workspace_id, next.ids
      from walk w cross join lateral (
        select f.workspace_id, array(
          select d.id from deliveries d
          where d.shard = w.shard and d.workspace_id >= f.workspace_id and d.workspace_id <= f.workspace_id
            and ${isLater} and d.next_at <= ${now}
          order by d.workspace_id, d.next_at limit ${PER_WORKSPACE}::int) as ids
        from (
          select d.workspace_id from deliveries d
          where d.shard = w.shard and d.workspace_id > w.workspace_id and ${isLater}
          order by d.workspace_id limit 1
        ) f
      ) next
      where w.n < ${stepsOf(crowded)}::int
    )`

/** What a look for what is due is asked for. */
interface DueAsked {
  shards: ShardRange
  now: Date
  /** What became due before is not looked at; undefined: all is. */
  since: Date | undefined
}

/**
 * Whether anything of a range of shards is due that is not ready: a look whose plan is kept, since to plan `readyDue` at each call takes
 * some ten times as long as to find nothing.
 * @param trx of a connection with `claimSettings`, by which the plan reads the index in the order of time whatever the statistics say
 */
export async function isAnyDue(trx: Trx, asked: DueAsked): Promise<boolean> {
  const { rows } = await lookForDue(trx, asked)
  return rows[0]?.found ?? false
}

const lookForDue = prepare<DueAsked, { found: boolean }>((slot) => {
  const from = slot(({ shards }) => shards.from)
  const last = slot(({ shards }) => shards.to - 1)
  const now = slot((asked) => asked.now)
  const since = slot((asked) => asked.since ?? null)
  return sql`
    with due as (
      select from generate_series(${from}::int, ${last}::int) as s (shard)
      cross join lateral (
        select from deliveries
        where shard = s.shard and ${isLater} and next_at <= ${now}::timestamptz
          and next_at > coalesce(${since}::timestamptz, '-infinity')
        order by next_at limit 1
      ) first
      limit 1
    )
    select exists (select from due) as found`
})

/**
 * Makes deliveries of a range of shards ready that are due: of each shard up to `perShard`, earliest first, so that none
 * waits for what has become due in another one. In a shard where more is due workspaces take turns besides, since the earliest may
 * all be one workspace's. Where a domain's destination was learned since, they get it. Of those that were
 * scheduled the event `sent` is written, unless their domain may not send any more. Rows that others have locked are left for the next call.
 */
export async function readyDue(
  trx: Trx,
  shards: ShardRange,
  now: Date,
  { perShard, rights, crowded = new Map(), owner, since }: ReadyAsked,
): Promise<Readied> {
  const isDue = since ? sql`next_at <= ${now} and next_at > ${since}` : sql`next_at <= ${now}`
  const mayReady = owner ? ownsLane(owner) : sql`true`
  const lock = sql`for update skip locked`
  // Planned at each call (it begins with a comment, so it gets no name): a plan for an empty queue is slow for a long one.
  const { rows } = await sql<{
    count: number
    ready: InLine[] | null
    told: boolean
    full: number[] | null
    walked: { shard: number; after: string }[] | null
  }>`
    /* ready */ with recursive ${turnSteps(crowded, now)}, first as materialized (
      select due.*, s.shard as of_shard from generate_series(${shards.from}::int, ${shards.to - 1}::int) as s (shard)
      cross join lateral (
        select ${dueColumns} from deliveries
        where shard = s.shard and ${isLater} and ${isDue} and ${mayReady}
        order by next_at limit ${perShard}::int
        ${lock}
      ) due
    ), turns as materialized (
      select ${dueColumns}, shard::int as of_shard from deliveries
      where id = any(array(select unnest(ids) from walk)) and not ready and ${isFreeById} and next_at <= ${now} and ${mayReady}
      order by id ${lock}
    ), due as materialized (
      select * from first union select * from turns
    ), ${readySteps(now, rights, shards)}, done as (
      select id from readied union all select id from stopped
    )
    select (select count(*) from done)::int as count,
      (select json_agg(json_build_object('class', r.class, 'workspace_id', r.workspace_id, 'shard', r.shard,
        'destination', r.destination, 'at', ${inMs(sql`r.next_at`)}, 'id', r.id))
        from readied r where r.is_ready) as ready,
      exists (select from told) as told,
      (select json_agg(f.of_shard) from (
        select of_shard from first group by of_shard having count(*) >= ${perShard}::int) f) as full,
      (select json_agg(json_build_object('shard', w.shard, 'after', w.workspace_id)) from walk w
        where w.n = ${stepsOf(crowded)}::int) as walked
  `.execute(trx)
  const [found] = rows
  const after = new Map(found?.walked?.map((one) => [one.shard, one.after]))
  return {
    count: found?.count ?? 0,
    rows: found?.ready ?? [],
    told: found?.told ?? false,
    crowded: new Map(found?.full?.map((shard) => [shard, after.get(shard) ?? ''])),
  }
}
