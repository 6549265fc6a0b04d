// The lines of waiting mail: what one workspace has for one destination, in one class. A lane reads them into its memory.

import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../connect.ts'
import { prepare } from '../prepared.ts'
import { isFreeById, isInLine } from './guards.ts'

/** A half-open range of shards that one lane owns. */
export interface ShardRange {
  from: number
  to: number
}

/** What a line is known by. */
export interface LineKey {
  /** The place of its class in `mailClasses`. */
  class: number
  workspace_id: string
  shard: number
  destination: string
}

/** A place in a line, whose order is by time (ms) and then by id. */
export interface LinePlace {
  at: number
  id: number
}

/** A delivery in its line. */
export type InLine = LineKey & LinePlace

/** Before all lines. */
export const BEFORE_ALL_LINES: LineKey = { class: -1, workspace_id: '', shard: -1, destination: '' }
/** Behind every shard, and every destination in the order of the index. */
const LAST_SHARD = 32_767
const LAST = '\u{10ffff}'

/** Behind all lines of the workspace of a line. */
export const behindWorkspace = (line: LineKey): LineKey => ({
  ...line,
  shard: LAST_SHARD,
  destination: LAST,
})

/** A time in ms. */
export const inMs = (time: RawBuilder<unknown>) =>
  sql<number>`round(date_part('epoch', ${time}) * 1000)::bigint`
const toTime = (at: RawBuilder<unknown>) => sql`to_timestamp(${at} / 1000)::timestamptz(3)`

/** The most arrivals that one statement reads of each kind. */
export const ARRIVALS_MAX = 1_000

/** Which transactions had ended at a moment, as `pg_current_snapshot` tells it. */
export interface Snapshot {
  /** All transactions before this one had ended. */
  xmin: number
  /** No transaction from this one on had begun. */
  xmax: number
  /** Those between them that were under way. */
  xip: number[]
}

/** What was accepted, and until when that is all of it. */
export interface Arrivals {
  /** In the order of their ids; of ARRIVALS_MAX there may be more behind the last one. */
  fresh: InLine[]
  /** What has an id up to `seenTo`, of transactions that have ended since; of ARRIVALS_MAX there may be more. */
  late: InLine[]
  /** The highest id that exists. Lower ones may still come, of transactions that have not ended. */
  top: number
  snapshot: Snapshot
}

/** What a look for arrivals asks. */
export interface ArrivalsAsked {
  shards: ShardRange
  /** No transaction that has not ended by `snapshot` writes ids up to this one. */
  after: number
  /** Up to this id everything was seen that transactions had written which had ended by `snapshot`. */
  seenTo: number
  /** That of the look before. */
  snapshot: Snapshot
}

/**
 * The mail of some shards that stands in line and was accepted since the look before, found by the ids alone: whatever was sent
 * before costs nothing, also while a snapshot keeps the entries of it in all indexes. What a transaction accepts within a savepoint
 * may not be seen where the transaction was under way at a look: nothing does, and a search would find it.
 */
export async function listArrivals(db: Trx, asked: ArrivalsAsked): Promise<Arrivals> {
  const { rows } = await arrivalSearch(db, asked)
  const [first] = rows
  if (!first) throw new Error('a snapshot has no row')
  const { top, xmin, xmax, xip } = first
  const fresh: InLine[] = []
  const late: InLine[] = []
  for (const row of rows) {
    if (row.id === null) continue
    if (row.is_late) late.push(row)
    else fresh.push(row)
  }
  return { fresh, late, top, snapshot: { xmin, xmax, xip: xip ?? [] } }
}

/** Rows know the lower 32 bits of the transactions that wrote them. */
const low = (xid: number) => xid % 2 ** 32

/** Whether a row was written by a transaction that had not ended at a moment. */
const isWrittenSince = (xmax: RawBuilder<number>, xip: RawBuilder<number[]>) => sql`(
          ((d.xmin::text::bigint - ${xmax}::bigint) & 4294967295) < 2147483648
          or d.xmin::text::bigint = any(${xip}::bigint[]))`

type ArrivalRow = InLine & Snapshot & { top: number; is_late: boolean }

/** It begins with `with`, so that it gets a name (`statementNames.ts`): to read and plan it each time took as long as to run it. */
const arrivalSearch = prepare<ArrivalsAsked, ArrivalRow>((slot) => {
  const seenTo = slot((asked) => asked.seenTo)
  const columns = sql`d.class, d.workspace_id, d.shard, d.destination, ${inMs(sql`d.next_at`)} as at, d.id`
  const isOurs = sql`d.ready and ${isFreeById} and d.shard >= ${slot(({ shards }) => shards.from)}
          and d.shard < ${slot(({ shards }) => shards.to)}`
  const isLate = isWrittenSince(
    slot(({ snapshot }) => low(snapshot.xmax)),
    slot(({ snapshot }) => snapshot.xip.map(low)),
  )
  return sql`
    with s as materialized (
      select coalesce((select max(id) from deliveries), 0) as top, pg_snapshot_xmin(c)::text::bigint as xmin,
        pg_snapshot_xmax(c)::text::bigint as xmax, (select array_agg(x::text::bigint) from pg_snapshot_xip(c) x) as xip
      from pg_current_snapshot() c
    )
    select s.top, s.xmin, s.xmax, s.xip, a.* from s left join lateral (
      (select ${columns}, false as is_late from deliveries d
      where d.id > ${seenTo}::bigint and ${isOurs}
      order by d.id limit ${sql.lit(ARRIVALS_MAX)})
      union all
      (select ${columns}, true from deliveries d
      where d.id > ${slot(({ after }) => after)}::bigint and d.id <= ${seenTo}::bigint and ${isOurs} and ${isLate}
      limit ${sql.lit(ARRIVALS_MAX)})
    ) a on true`
})

/** Of so many lines one statement finds the first delivery. */
export const LINES_MAX = 500

/** What a search for lines asks. */
export interface LinesAsked {
  shards: ShardRange
  /** Lines behind this one. */
  after: LineKey
}

/** What a search for lines has found. */
export interface FoundLines {
  /** Of each line the delivery that is due longest, in the order of the lines. */
  heads: InLine[]
  /** Where to go on, or null: there are no more lines. */
  next: LineKey | null
}

/**
 * Finds lines of some shards in the order of class, workspace, shard and destination: one look at the index for each. It
 * passes the entries of what was sent that a snapshot keeps there, so it is for when a lane begins, and seldom after that.
 */
export async function listLines(db: Trx, asked: LinesAsked): Promise<FoundLines> {
  const { rows } = await lineSearch(db, asked)
  const heads: InLine[] = []
  for (const { is_ours, ...head } of rows) if (is_ours) heads.push(head)
  return { heads, next: rows.length < LINES_MAX ? null : (rows.at(-1) ?? null) }
}

const lineSearch = prepare<LinesAsked, InLine & { is_ours: boolean }>((slot) => {
  const first = sql`${slot(({ after }) => after.class)}::smallint as class, ${slot(({ after }) => after.workspace_id)}::text collate "C" as workspace_id,
        ${slot(({ after }) => after.shard)}::smallint as shard, ${slot(({ after }) => after.destination)}::text collate "C" as destination`
  const from = slot(({ shards }) => shards.from)
  const to = slot(({ shards }) => shards.to)
  const isOurs = sql`d.shard >= ${from} and d.shard < ${to}`
  // A line of another lane leads to the first one of ours, or behind all of its workspace.
  return sql`
    with recursive step as (
      select 0 as n, ${first}, 0::bigint as at, 0::bigint as id, false as is_ours
      union all
      select s.n + 1, f.* from step s cross join lateral (
        select d.class, d.workspace_id,
          case when d.shard < ${from} then ${from}::smallint - 1 when d.shard >= ${to} then ${sql.lit(LAST_SHARD)} else d.shard end::smallint,
          case when ${isOurs} then d.destination else ${sql.lit(LAST)} end collate "C", ${inMs(sql`d.next_at`)}, d.id, ${isOurs}
        from deliveries d
        where (d.class, d.workspace_id, d.shard, d.destination) > (s.class, s.workspace_id, s.shard, s.destination) and ${isInLine}
        order by d.class, d.workspace_id, d.shard, d.destination, d.next_at, d.id limit 1
      ) f
      where s.n < ${sql.lit(LINES_MAX)}
    )
    select class, workspace_id, shard, destination, at, id, is_ours from step where n > 0 order by n`
})

/** A line, and how far it was read. */
export type ReadFrom = LineKey & { unread: LinePlace }

interface ReadAsked {
  lines: readonly ReadFrom[]
  /** Of each line. */
  each: number
}

/** Reads what stands in lines behind a place of each. @returns for each line its deliveries, in their order */
export async function readLines(
  db: Trx,
  lines: readonly ReadFrom[],
  each: number,
): Promise<LinePlace[][]> {
  const { rows } = await lineRead(db, { lines, each })
  const found: LinePlace[][] = lines.map(() => [])
  for (const { n, at, id } of rows) found[n - 1]?.push({ at, id })
  return found
}

/** It begins with `with`, since only such a statement keeps its plan (`statementNames.ts`). */
const lineRead = prepare<ReadAsked, LinePlace & { n: number }>((slot) => {
  const of = <T>(name: (line: ReadFrom) => T) => slot(({ lines }) => lines.map(name))
  return sql`
    with l as materialized (
      select * from unnest(${of((line) => line.class)}::smallint[], ${of((line) => line.workspace_id)}::text[], ${of((line) => line.shard)}::smallint[],
          ${of((line) => line.destination)}::text[], ${of(({ unread }) => unread.at)}::float8[], ${of(({ unread }) => unread.id)}::bigint[])
        with ordinality as a(class, workspace_id, shard, destination, at, id, n)
    )
    select l.n::int as n, ${inMs(sql`d.next_at`)} as at, d.id
    from l
    cross join lateral (
      select next_at, id from deliveries
      where class = l.class and workspace_id = l.workspace_id and shard = l.shard and destination = l.destination and ${isInLine}
        and (next_at, id) > (${toTime(sql`l.at`)}, l.id)
      order by next_at, id limit ${slot(({ each }) => each)}::int
    ) d
    order by l.n, d.next_at, d.id`
})
