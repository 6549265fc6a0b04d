// The outbox: rows that the starter hands to Temporal, or that the pump records for contacts. Writes, locks and
// removes them.

import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../rules/ids.ts'
import type { OutboxKind } from '../rules/wire.ts'
import type { Db, Trx } from './connect.ts'
import type { Row } from './schema.ts'

type OutboxRow = Row<'outbox'>

/** A row that the starter hands to Temporal. */
export type TemporalRow = OutboxRow & { kind: Exclude<OutboxKind, 'mail_event' | 'leave'> }

type NewOutboxRow = Pick<
  OutboxRow,
  'kind' | 'execution_id' | 'workspace_id' | 'workflow_id' | 'contact_id' | 'payload'
>

/**
 * The insert of rows that are due at once, as a step of a `with` or as its last statement. The caller wakes
 * `dripline_outbox` after the commit (for `mail_event`: `dripline_mail_events`).
 * @param rows a `select` of the columns `kind, execution_id, workspace_id, workflow_id, contact_id, payload`
 * (jsonb),
 *   by these names; rows are numbered in the order of `kind, execution_id`
 */
export function outboxRows(rows: RawBuilder<unknown>, at: Date): RawBuilder<unknown> {
  return sql`insert into outbox (kind, execution_id, workspace_id, workflow_id, contact_id, payload,
      next_at, due_at, created_at)
    select kind, execution_id, workspace_id, workflow_id, contact_id, payload,
      case kind when 'mail_event' then 'infinity' else ${at}::timestamptz end,
      case kind when 'mail_event' then ${at}::timestamptz end, ${at}::timestamptz
    from (${rows}) as told order by kind, execution_id`
}

/** Writes one row, due at once. */
async function insertOutbox(trx: Trx, row: NewOutboxRow, at: Date): Promise<void> {
  await trx
    .insertInto('outbox')
    .values({ ...row, payload: JSON.stringify(row.payload), next_at: at, created_at: at })
    .execute()
}

/**
 * Writes a row that starts the checks of a domain (`domain_start`) or asks for one now (`domain_check`). The
 * domain's id is in the column execution_id.
 */
export function insertDomainTask(
  trx: Trx,
  task: {
    kind: 'domain_start' | 'domain_check'
    domainId: string
    workspaceId: WorkspaceId
    at: Date
  },
): Promise<void> {
  const { kind, domainId, workspaceId, at } = task
  const about = { execution_id: domainId, workspace_id: workspaceId }
  return insertOutbox(trx, { kind, ...about, workflow_id: '', contact_id: '', payload: {} }, at)
}

/**
 * Rows of one workspace that wait for Temporal: the starts of one of its workflows, or all that are no starts. Each is a
 * line of its own, so that signals and cancellations never stand behind starts, nor one workflow behind another. What
 * Temporal has refused stands in further lines, before nobody else.
 */
export interface OutboxLine {
  workspace_id: WorkspaceId
  /** Whose starts; '' for the rows that are no starts. */
  starts_of: string
}

/** The parts of a line's key, as the index `outbox_lines` has them. */
const startsOf = sql`(case when kind = 'start' then workflow_id else '' end)`
const refusedOnce = sql`(case when attempts = 0 then 0 else 1 end)`

/**
 * The rows that are for Temporal. A walk over due rows need not ask for `leave`: a check of the table keeps its `next_at` at
 * `infinity`, as that of `mail_event`, so it is never due by it. The indexes have it in them, and leave `mail_event` out.
 */
export const forTemporal = sql`kind not in ('mail_event', 'leave')`

/**
 * The rows of lines, by the index `outbox_lines`. Rows of the kind `leave` are among them; they are never due by `next_at`.
 * @param refused whether those that Temporal has refused, or the others
 */
export const ofLines = (refused: boolean) =>
  sql`kind <> 'mail_event' and ${refusedOnce} = ${refused ? 1 : 0}::int`

const LINES_MAX = 1_000

/**
 * Finds lines with due rows, in the order of workspaces.
 * @param after the line to begin after; null for the first page
 * @param refused whether lines of rows that Temporal has refused, or of the others
 * @returns the lines, and the `after` of the next page; null after the last
 */
export async function listOutboxLines(
  db: Db,
  after: OutboxLine | null,
  { now, refused }: { now: Date; refused: boolean },
): Promise<{ due: OutboxLine[]; next: OutboxLine | null }> {
  // One step down the index for each line, however many rows it has.
  const { rows } = await sql<OutboxLine & { due: boolean }>`
    with recursive line as (
      (select workspace_id, ${startsOf} as starts_of, next_at from outbox
        where ${ofLines(refused)}
          and (workspace_id, ${startsOf}) > (${after?.workspace_id ?? ''}, ${after?.starts_of ?? ''})
        order by workspace_id, ${startsOf}, next_at limit 1)
      union all
      select n.workspace_id, n.starts_of, n.next_at from line l cross join lateral (
        select workspace_id, ${startsOf} as starts_of, next_at from outbox
        where ${ofLines(refused)} and (workspace_id, ${startsOf}) > (l.workspace_id, l.starts_of)
        order by workspace_id, ${startsOf}, next_at limit 1) n
    )
    select workspace_id, starts_of, next_at <= ${now} as due from line limit ${LINES_MAX}
  `.execute(db)
  const lines = rows.map(({ workspace_id, starts_of }) => ({ workspace_id, starts_of }))
  return {
    due: lines.filter((_, i) => rows[i]?.due),
    next: lines.length < LINES_MAX ? null : (lines.at(-1) ?? null),
  }
}

/** Of rows `earlier`, which stand before `l` because they are of the same execution. */
const isEarlier = sql`earlier.execution_id = l.execution_id and earlier.id < l.id and earlier.kind <> 'mail_event'`

/** How a worker claims rows: until then nobody else takes them, unless it has settled them. */
export interface OutboxClaim {
  now: Date
  until: Date
  /** As in `listOutboxLines`. */
  refused: boolean
}

/** A claim looks at so many due rows of a line for each that it may take, since some stand behind rows of their executions. */
const LOOKS = 4
/** The longest pause of a row that stands behind another one. It ends as soon as that one is done. */
const BEHIND_S_MAX = 600

export interface ClaimedOutbox {
  /** Oldest first. */
  rows: TemporalRow[]
  /** How many due rows were put off because they stand behind others: while there are such, more may be due behind them. */
  putOff: number
}

/**
 * Claims due rows for Temporal, of each line as many as `most` says. Of each execution it takes only the oldest row, so
 * that a start comes before its signals and its cancellation. A row that stands behind another one is put off by as long as
 * it has been waiting, or until that one is done (`settleOutbox`): so what stands behind refused or held back starts is
 * read by few claims, however much it is. That one is locked meanwhile, so that it is not done without freeing the row; where
 * somebody else has locked it the row stays as it is. No lock outlives the statement: whoever dies or freezes with rows keeps them
 * until the claim ends.
 */
export async function claimOutbox(
  trx: Trx,
  lines: readonly (OutboxLine & { most: number })[],
  { now, until, refused }: OutboxClaim,
): Promise<ClaimedOutbox> {
  /** The due rows of a line that a claim looks at. */
  const looked = sql`select id, execution_id, next_at, created_at from outbox as due
            where ${ofLines(refused)} and due.workspace_id = line.workspace_id
              and ${startsOf} = line.starts_of and due.next_at <= ${now}
            order by due.next_at, due.id limit line.most * ${LOOKS}::int`
  const { rows } = await sql<TemporalRow & { put_off: number }>`
    with line as (
      select * from unnest(${lines.map((line) => line.workspace_id)}::text[],
        ${lines.map((line) => line.starts_of)}::text[], ${lines.map((line) => line.most)}::int[])
        with ordinality as line (workspace_id, starts_of, most, n)
    ),
    claimed as materialized (
      select o.id, line.n from line cross join lateral (
        select free.id from (${looked}) l cross join lateral (
          select id from outbox as o
          where o.id = l.id and o.next_at <= ${now} and not exists (select from outbox as earlier where ${isEarlier})
          for update of o skip locked
        ) free
        order by l.next_at, l.id limit line.most
      ) o
    ),
    behind as materialized (
      select b.id, l.created_at from line cross join lateral (${looked}) l
        cross join lateral (
          select from outbox as earlier where ${isEarlier} order by earlier.id limit 1 for share of earlier skip locked
        ) held
        cross join lateral (
          select id from outbox as o where o.id = l.id and o.next_at <= ${now} for update of o skip locked
        ) b
      where (select count(*) from claimed where claimed.n = line.n) < line.most
    ),
    put_off as (
      update outbox o
      set next_at = ${now}::timestamptz
        + least(${BEHIND_S_MAX}, greatest(0.1, extract(epoch from ${now}::timestamptz - b.created_at))) * interval '1 second'
      from behind b where o.id = b.id
      returning o.id
    ),
    taken as (
      update outbox set next_at = ${until} from claimed where outbox.id = claimed.id
      returning outbox.*
    )
    select taken.*, (select count(*)::int from put_off) as put_off from (select) as one left join taken on true
  `.execute(trx)
  const taken = rows.filter(({ id }) => id !== null).map(({ put_off: _, ...row }) => row)
  return {
    rows: (taken as TemporalRow[]).sort((a, b) => a.id - b.id),
    putOff: rows[0]?.put_off ?? 0,
  }
}

/** The longest pause after a refusal. The first is of two seconds, and each further one twice as long. */
const REFUSED_S_MAX = 600

/** What became of claimed rows. */
export interface OutboxSettlement {
  /** Ids of rows that Temporal has taken, or that nobody needs any more. */
  done: number[]
  /** Ids of rows that Temporal could not be asked about, and when they are due again. */
  putOff: { ids: number[]; until: Date }
  /** Rows that Temporal refused, with the name of its answer. */
  refused: { id: number; refusal: string }[]
}

/**
 * Settles rows of a claim in one statement. What stands next behind a row that is done is due at once. Rows that another worker has
 * claimed meanwhile are only removed.
 */
export async function settleOutbox(
  trx: Trx,
  claim: Pick<OutboxClaim, 'now' | 'until'>,
  { done, putOff, refused }: OutboxSettlement,
): Promise<void> {
  await sql`
    with gone as (
      delete from outbox where id = any(${done}::bigint[]) returning id, execution_id
    ), next as materialized (
      select n.id from gone cross join lateral (
        select id, next_at, attempts from outbox
        where execution_id = gone.execution_id and id > gone.id and kind <> 'mail_event' and kind <> 'leave'
        order by id limit 1
      ) n where n.attempts = 0 and n.next_at > ${claim.now}
    ), freed as (
      update outbox set next_at = ${claim.now} from next where outbox.id = next.id and outbox.attempts = 0
    ), later as (
      update outbox set next_at = ${putOff.until}
      where id = any(${putOff.ids}::bigint[]) and next_at = ${claim.until}
    )
    update outbox set attempts = outbox.attempts + 1, refusal = r.refusal,
      next_at = ${claim.now}::timestamptz
        + least(${REFUSED_S_MAX}, 2 * 2 ^ least(outbox.attempts, 20)) * interval '1 second'
    from unnest(${refused.map((row) => row.id)}::bigint[],
      ${refused.map((row) => row.refusal)}::text[]) as r (id, refusal)
    where outbox.id = r.id and outbox.next_at = ${claim.until}
  `.execute(trx)
}

/**
 * Removes recorded mail events. Puts off those whose contact is locked, by 0.25 s at first and up to two seconds,
 * so that events of other contacts come first.
 */
export async function settleMailEvents(
  trx: Trx,
  workspaceId: WorkspaceId,
  { doneIds, heldIds }: { doneIds: number[]; heldIds: number[] },
  now: Date,
): Promise<void> {
  await sql`
    with gone as (
      delete from outbox where workspace_id = ${workspaceId} and id = any(${doneIds}::bigint[])
    )
    update outbox set attempts = attempts + 1,
      due_at = ${now}::timestamptz + least(2, 0.25 * 2 ^ least(attempts, 3)) * interval '1 second'
    where id in (
      select id from outbox
      where workspace_id = ${workspaceId} and id = any(${heldIds}::bigint[])
      for update skip locked
    )
  `.execute(trx)
}

/** Puts off the mail events of one contact. */
export async function putOffMailEvents(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
  until: Date,
): Promise<void> {
  await sql`
    update outbox set attempts = attempts + 1, due_at = ${until}
    where kind = 'mail_event' and contact_id = ${contactId} and workspace_id = ${workspaceId}
  `.execute(trx)
}
