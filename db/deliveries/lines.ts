// The lines of waiting mail: what one workspace has for one destination, in one class. A claim walks them by their index.

import { type RawBuilder, sql } from 'kysely'
import { classPlaces, classWeights } from '../../rules/mail/classes.ts'
import { isInLine, isWaiting } from './guards.ts'

/** A half-open range of shards that one lane owns. */
export interface ShardRange {
  from: number
  to: number
}

/** The place of a line among those of its workspace. */
export interface LinePlace {
  shard: number
  destination: string
}

/** What a claim asks of the lines. */
export interface LineWalk {
  shards: ShardRange
  /** The most deliveries of one workspace and class. */
  turn: number
  /** The most deliveries of one line, so that a long one does not delay the other mail of its workspace. */
  perLine: number
  /** Of each class the most that is looked for. */
  most: readonly number[]
  /** Of each class the workspace after which the walk begins; '' or absent: it begins with the first. */
  after?: readonly string[]
  /** Where workspaces go on: of each class the line after which, by workspace. Others begin with their first line. */
  places?: readonly ReadonlyMap<string, LinePlace>[]
  /** How many more deliveries each destination has room for; absent: no limit. */
  rooms?: { known: ReadonlyMap<string, number>; other: number }
}

/** What became of the walk through one class. */
export interface Walked {
  /** The place of the class in `mailClasses`. */
  class: number
  /** The next walk begins after this workspace; '': the last one was reached, and all that was found was taken. */
  after: string
  /** Deliveries that were taken. */
  taken: number
  /** Workspaces whose turn it was; `place` null: their next turn begins with their first line. */
  turns: { workspace_id: string; place: LinePlace | null }[]
  /** Lines of which some were taken. */
  lines: number
  /** Whether a workspace may have more than was taken in its turn, or a line more than `perLine`. */
  cut: boolean
  /** Destinations whose room is full now. */
  full: string[]
}

/** The most steps of a walk through one class: each is a look for a workspace or at a line. */
const STEPS_MAX = 200

/**
 * Steps of a `with recursive` that end in `picked`: the ids of up to `limit` due deliveries. The classes share the places,
 * and the room of a destination, by their weights; what one leaves free the others get.
 */
export const lineSteps = (walk: LineWalk, limit: number, now: Date): RawBuilder<unknown> =>
  sql`${walkStep(walk, now)}, ${pickSteps(limit)}`

/**
 * The walk: from workspace to workspace and, until its turn is used up, over its lines, in pieces of up to `perLine` rows. A
 * piece may have several short lines; what it leaves of its last line waits for the next lap. So a destination without
 * room costs one look at each of its lines.
 */
function walkStep(walk: LineWalk, now: Date): RawBuilder<unknown> {
  const { shards, turn, perLine, most, after = [], places = [], rooms } = walk
  const known = JSON.stringify(Object.fromEntries(rooms?.known ?? []))
  const roomOf = sql`coalesce((${known}::jsonb ->> d.destination)::int, ${Math.min(rooms?.other ?? 1e6, 1e6)}::int)`
  const begins = classPlaces.map((place) => after[place] ?? '')
  const goOn = JSON.stringify(classPlaces.map((place) => Object.fromEntries(places[place] ?? [])))
  return sql`walk as (
      select c.class, 0 as n, c.workspace_id collate "C" as workspace_id, null::smallint as shard,
        '' collate "C" as destination, 0 as turn, '{}'::bigint[] as ids, '{}'::text[] collate "C" as destinations,
        '{}'::int[] as rooms, '{}'::text[] collate "C" as full_ones, 0 as got, c.most
      from unnest(${[...classPlaces]}::smallint[], ${begins}::text[], ${[...most]}::int[])
        as c(class, workspace_id, most)
      union all
      select w.class, w.n + 1, next.workspace_id, next.shard, next.destination,
        next.turn - coalesce(cardinality(next.ids), 0), coalesce(next.ids, '{}'), coalesce(next.destinations, '{}'),
        coalesce(next.rooms, '{}'), coalesce(next.full_ones, '{}'), w.got + coalesce(cardinality(next.ids), 0), w.most
      from walk w
      cross join lateral (
        (select w.workspace_id, (array_agg(p.shard))[count(*)] as shard,
          (array_agg(p.destination))[count(*)] as destination, w.turn,
          array_agg(p.id) filter (where p.is_due and p.place <= p.room) as ids,
          array_agg(p.destination) filter (where p.is_due and p.place <= p.room) as destinations,
          array_agg(p.room) filter (where p.is_due and p.place <= p.room) as rooms,
          array_agg(distinct p.destination) filter (where p.is_due and p.place > p.room) as full_ones
        from (select q.*, row_number() over (partition by q.shard, q.destination order by q.next_at) as place from (
          select d.id, d.shard, d.destination, d.next_at, ${isWaiting} and d.next_at <= ${now} as is_due, ${roomOf} as room
          from deliveries d
          where w.turn > 0 and d.class = w.class and d.workspace_id = w.workspace_id and ${isInLine}
            and (d.shard, d.destination) > (w.shard, w.destination) and d.shard < ${shards.to}
          order by d.shard, d.destination, d.next_at limit least(w.turn, ${perLine}::int)
        ) q) p
        having count(*) > 0)
        union all
        (select f.workspace_id, coalesce((p.place ->> 'shard')::smallint, ${shards.from - 1}::smallint),
          coalesce(p.place ->> 'destination', ''), ${turn}::int, null, null, null, null
        from (
          select d.workspace_id from deliveries d
          where d.class = w.class and d.workspace_id > w.workspace_id and ${isInLine}
          order by d.workspace_id limit 1
        ) f
        left join lateral (
          select g.place from (select ${goOn}::jsonb -> w.class::int -> f.workspace_id as place) g
          cross join lateral (
            select from deliveries d
            where g.place is not null and d.class = w.class and d.workspace_id = f.workspace_id and ${isInLine}
              and (d.shard, d.destination) > ((g.place ->> 'shard')::smallint, g.place ->> 'destination')
              and d.shard < ${shards.to}
            order by d.shard, d.destination limit 1
          ) further
        ) p on true)
        limit 1
      ) next
      where w.n < ${STEPS_MAX} and w.got < w.most
    )`
}

/** Steps that share the places among classes, and the room of a destination among all that go there. */
function pickSteps(limit: number): RawBuilder<unknown> {
  return sql`ranked as (
      select w.class, w.n, i.id, i.destination, i.room,
        row_number() over (partition by w.class order by w.n, i.ord)
          / (${[...classWeights]}::float8[])[w.class + 1] as rank
      from walk w cross join lateral unnest(w.ids, w.destinations, w.rooms)
        with ordinality as i(id, destination, room, ord)
    ),
    placed as (
      select r.*, row_number() over (partition by destination order by rank, class) as place from ranked r
    ),
    picked as (
      select id, class, n, destination from placed where place <= room order by rank, class limit ${limit}::int
    )`
}

/**
 * Further steps, after those of `lineSteps`, that end in `walked`: one row with a json array of `Walked`. What was found
 * and not picked comes first in the next walk: `counted` are the steps up to the last one that was picked.
 */
export function walkedSteps({ perLine }: LineWalk): RawBuilder<unknown> {
  return sql`picked_of as (
      select class, n, count(*)::int as count from picked group by class, n
    ),
    ends as (
      select w.class, max(w.got) as got, max(w.n) as n, coalesce(sum(p.count), 0)::int as taken,
        max(p.n) as picked_n, max(w.n) >= ${STEPS_MAX} or max(w.got) >= max(w.most) as stopped,
        max(w.workspace_id) filter (where w.n = 0) as begin
      from walk w left join picked_of p on p.class = w.class and p.n = w.n group by w.class
    ),
    counted as (
      select w.*, p.count from walk w join ends e on e.class = w.class
        left join picked_of p on p.class = w.class and p.n = w.n
      where w.n > 0 and (e.taken = e.got or w.n <= e.picked_n)
    ),
    turns as (
      select class, workspace_id, max(n) as n, (array_agg(turn order by n desc))[1] as turn,
        (array_agg(json_build_object('shard', shard, 'destination', destination) order by n desc))[1] as place
      from counted group by class, workspace_id
    ),
    walked as (
      select json_agg(json_build_object('class', e.class, 'taken', e.taken,
        'after', case when e.got = e.taken and not e.stopped then '' else coalesce(
          (select max(c.workspace_id) from counted c where c.class = e.class), e.begin) end,
        'lines', (select count(distinct p.destination) from picked p where p.class = e.class),
        'cut', exists (select from counted c where c.class = e.class
          and (c.turn <= 0 or cardinality(c.ids) >= ${perLine}::int)),
        'turns', (select coalesce(json_agg(json_build_object('workspace_id', t.workspace_id, 'place',
            case when t.turn <= 0 or t.n = e.n and e.stopped or t.n = e.picked_n and e.got > e.taken
              then t.place end)), '[]')
          from turns t where t.class = e.class),
        'full', (select coalesce(json_agg(f.destination), '[]') from (
          select unnest(w.full_ones) as destination from walk w where w.class = e.class
          union select p.destination from placed p where p.class = e.class and p.place >= p.room) f))) as walked
      from ends e
    )`
}
