// The lines of waiting mail: what one workspace has for one destination, in one class. A claim walks them by their index.

import { type RawBuilder, sql } from 'kysely'
import { classPlaces, classWeights } from '../../rules/mail/classes.ts'
import type { Slots } from '../prepared.ts'
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

/** One step of a walk as the statement returns it. */
export interface WalkStep {
  class: number
  /** Its place in the walk through its class; 0: where it begins. */
  n: number
  workspace_id: string
  shard: number | null
  destination: string
  /** What is left of the workspace's turn. */
  turn: number
  /** What it found, and the destination of each. */
  ids: number[]
  destinations: string[]
  /** Destinations for which it found more than they have room for. */
  full_ones: string[]
  /** How many were found in the class until now. */
  got: number
  most: number
}

/** The most steps of a walk through one class: each is a look for a workspace or at a line. */
export const STEPS_MAX = 200
/** A piece has no more than the class still wants, but so many, since some may fall out. */
const PIECE_MIN = 20
/** Behind every workspace and every destination in the order of the index. */
const LAST = '\u{10ffff}'
/** The room of a destination that has no limit. */
const ROOM_MAX = 1_000_000

/** What the steps of a walk ask of a claim. */
export interface LineAsk extends LineWalk {
  limit: number
  now: Date
}

/**
 * Steps of a `with recursive` that end in `picked`: the ids and places of up to `limit` due deliveries. The classes share the
 * places of a claim, and the room of a destination, by their weights; what one leaves free the others get.
 */
export function lineSteps(slot: Slots<LineAsk>): RawBuilder<unknown> {
  const other = slot(({ rooms }) => Math.min(rooms?.other ?? ROOM_MAX, ROOM_MAX))
  /** The room of a destination, which may be below zero. */
  const roomOf = (destination: RawBuilder<unknown>) =>
    sql`coalesce(((select rooms from asked) ->> ${destination})::int, ${other}::int)`
  // What is long of what is asked, once: the rooms of destinations, and of each class where workspaces go on.
  return sql`asked as materialized (select ${slot(roomsText)}::jsonb as rooms, ${slot(placesText)}::jsonb as places),
    ${walkStep(slot, roomOf)}, ${pickSteps(slot, roomOf)}`
}

/** The rooms of destinations as a JSON text. To make an object of them first takes three times as long. */
function roomsText({ rooms }: LineWalk): string {
  const parts: string[] = []
  for (const [name, room] of rooms?.known ?? []) {
    parts.push(`${JSON.stringify(name)}:${JSON.stringify(room)}`)
  }
  return `{${parts.join()}}`
}

/** Of each class the workspaces with their places, each with the next one in the order of the index, as a JSON text. */
function placesText({ places = [] }: LineWalk): string {
  const texts = classPlaces.map((place) => {
    const sorted = [...(places[place] ?? [])].sort(([a], [b]) => (a < b ? -1 : 1))
    const parts = sorted.map(([name, { shard, destination }], i) => {
      const next = sorted[i + 1]?.[0] ?? LAST
      return `${JSON.stringify(name)}:{"shard":${shard},"destination":${JSON.stringify(destination)},"next":${JSON.stringify(next)}}`
    })
    return `{${parts.join()}}`
  })
  return `[${texts.join()}]`
}

/** The room of a destination in SQL. */
type RoomOf = (destination: RawBuilder<unknown>) => RawBuilder<unknown>

/**
 * The walk: from workspace to workspace and, until its turn is used up, over its lines, in pieces of up to `perLine` rows. A
 * piece may have several short lines; what it leaves of its last line waits for the next lap. So a destination without
 * room costs one look at each of its lines. All that it reads is in an order that only the index of the lines has, so that no
 * plan takes another one (`claim.ts`).
 *
 * A workspace that goes on behind its first line is not looked for: `known` is the next such one, and only what stands before
 * it is asked of the index. Else the walk would read over all that was settled of its first lines, whose entries stay in the
 * index while a transaction is open that began before.
 *
 * The lines of a workspace begin behind all that the shard before those of the lane may have. That is said by the place
 * alone, since with a second lower bound Postgres would look for the first entry by either of them.
 */
function walkStep(slot: Slots<LineAsk>, roomOf: RoomOf): RawBuilder<unknown> {
  const begins = slot(beginsOf)
  const nexts = slot((walk) =>
    beginsOf(walk).map((begin, place) => nextAfter(begin, walk.places?.[place])),
  )
  const most = slot((walk) => walk.most)
  const perLine = slot((walk) => walk.perLine)
  const to = slot(({ shards }) => shards.to)
  const now = slot((walk) => walk.now)
  const fits = sql`p.is_due and p.place <= p.room`
  return sql`walk as (
      select c.class, 0 as n, c.workspace_id collate "C" as workspace_id, null::smallint as shard,
        '' collate "C" as destination, 0 as turn, '{}'::bigint[] as ids, '{}'::tid[] as tids, '{}'::text[] collate "C" as destinations,
        '{}'::text[] collate "C" as full_ones, 0 as got, c.most, c.known collate "C" as known
      from unnest(${[...classPlaces]}::smallint[], ${begins}::text[], ${most}::int[], ${nexts}::text[])
        as c(class, workspace_id, most, known)
      union all
      select w.class, w.n + 1, next.workspace_id, next.shard, next.destination,
        next.turn - coalesce(cardinality(next.ids), 0), coalesce(next.ids, '{}'), coalesce(next.tids, '{}'), coalesce(next.destinations, '{}'),
        coalesce(next.full_ones, '{}'), w.got + coalesce(cardinality(next.ids), 0), w.most, next.known
      from walk w
      cross join lateral (
        (select w.workspace_id, (array_agg(p.shard))[count(*)] as shard,
          (array_agg(p.destination))[count(*)] as destination, w.turn,
          array_agg(p.id) filter (where ${fits}) as ids, array_agg(p.tid) filter (where ${fits}) as tids, array_agg(p.destination) filter (where ${fits}) as destinations,
          array_agg(p.destination) filter (where p.is_due and p.place = greatest(p.room, 0) + 1) as full_ones, w.known
        from (select q.*, row_number() over (partition by q.shard, q.destination order by q.next_at) as place from (
          select d.id, d.ctid as tid, d.shard, d.destination, d.next_at, ${isWaiting} and d.next_at <= ${now} as is_due,
            ${roomOf(sql`d.destination`)} as room
          from deliveries d
          where w.turn > 0 and d.class = w.class and d.workspace_id = w.workspace_id and ${isInLine}
            and (d.shard, d.destination) > (w.shard, w.destination) and d.shard < ${to}
          order by d.shard, d.destination, d.next_at
          limit least(w.turn, ${perLine}::int, greatest(w.most - w.got, ${PIECE_MIN}::int))
        ) q) p
        having count(*) > 0)
        union all
        ${nextWorkspace(slot)}
        limit 1
      ) next
      where w.n < ${STEPS_MAX} and w.got < w.most
    )`
}

/** The step to the workspace whose turn is next: it begins behind its place, or where it has none before its first line. */
function nextWorkspace(slot: Slots<LineAsk>): RawBuilder<unknown> {
  const before = slot(({ shards }) => shards.from - 1)
  const to = slot(({ shards }) => shards.to)
  const turn = slot((walk) => walk.turn)
  return sql`(select f.workspace_id, coalesce((p.place ->> 'shard')::smallint, ${before}::smallint),
        coalesce(p.place ->> 'destination', ${LAST}::text), ${turn}::int, null, null, null, null, f.known
      from (
        (select d.workspace_id, w.known from deliveries d
        where (d.class, d.workspace_id) > (w.class, w.workspace_id) and (d.class, d.workspace_id) < (w.class, w.known)
          and ${isInLine}
        order by d.class, d.workspace_id limit 1)
        union all
        select w.known, ((select places from asked) -> w.class::int -> w.known ->> 'next') collate "C" where w.known < ${LAST}::text
        limit 1
      ) f
      left join lateral (
        select g.place from (select (select places from asked) -> w.class::int -> f.workspace_id as place) g
        cross join lateral (
          select from deliveries d
          where g.place is not null and d.class = w.class and d.workspace_id = f.workspace_id and ${isInLine}
            and (d.shard, d.destination) > ((g.place ->> 'shard')::smallint, g.place ->> 'destination')
            and d.shard < ${to}
          order by d.shard, d.destination limit 1
        ) further
      ) p on true)`
}

/** Of each class the workspace after which the walk begins. */
const beginsOf = ({ after = [] }: LineWalk) => classPlaces.map((place) => after[place] ?? '')

/** Of the workspaces that have a place the first behind another one. */
function nextAfter(begin: string, places: ReadonlyMap<string, LinePlace> = new Map()): string {
  let next = LAST
  for (const name of places.keys()) if (name > begin && name < next) next = name
  return next
}

/** Steps that share the places among classes, and the room of a destination among all that go there. */
function pickSteps(slot: Slots<LineAsk>, roomOf: RoomOf): RawBuilder<unknown> {
  return sql`ranked as (
      select w.class, i.id, i.tid, i.destination,
        (w.got - cardinality(w.ids) + i.ord) / (${[...classWeights]}::float8[])[w.class + 1] as rank
      from walk w cross join lateral unnest(w.ids, w.tids, w.destinations) with ordinality as i(id, tid, destination, ord)
    ),
    placed as (
      select r.*, row_number() over (partition by destination order by rank, class) as place from ranked r
    ),
    picked as (
      select id, tid from placed where place <= ${roomOf(sql`destination`)} order by rank, class
      limit ${slot(({ limit }) => limit)}::int
    )`
}
