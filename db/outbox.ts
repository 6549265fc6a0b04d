// The outbox: rows that the starter hands to Temporal, or that the pump records for contacts. Writes them, finds lines of what
// is for Temporal, and settles mail events.

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
 * @param at when they are written: one time, or a further column of `rows`
 */
export function outboxRows(
  rows: RawBuilder<unknown>,
  at: Date | RawBuilder<unknown>,
): RawBuilder<unknown> {
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

/** Writes a row that starts the workflow function of a schedule, or tells it that the schedule has changed or is gone. */
export function insertScheduleTask(
  trx: Trx,
  task: { workflowId: string; nodeId: string; workspaceId: WorkspaceId; at: Date },
): Promise<void> {
  const { workflowId, nodeId, workspaceId, at } = task
  const about = { workspace_id: workspaceId, workflow_id: workflowId, contact_id: '' }
  const execution_id = `${workflowId}/${nodeId}`
  return insertOutbox(
    trx,
    { kind: 'schedule', ...about, execution_id, payload: { node_id: nodeId } },
    at,
  )
}

/** Writes a row that starts an execution again where Postgres has it. */
export function insertRestart(
  trx: Trx,
  row: Pick<OutboxRow, 'execution_id' | 'workspace_id' | 'workflow_id' | 'contact_id' | 'payload'>,
  at: Date,
): Promise<void> {
  return insertOutbox(trx, { kind: 'start', ...row }, at)
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
export const startsOf = sql`(case when kind = 'start' then workflow_id else '' end)`
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

/** The order of the index `outbox_lines`. */
export const linesOrder = sql`${refusedOnce}, workspace_id, ${startsOf}, next_at, id`

/** Whether a row about an execution, a domain or a schedule waits for Temporal. One look into the index for each id. */
export const isQueued = (id: RawBuilder<unknown>) =>
  sql<boolean>`coalesce((select true from outbox o where o.execution_id = ${id}
        and o.kind <> 'mail_event' limit 1), false)`

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

/** Puts off the mail events of one contact. It passes over those that somebody records at this moment, so it waits for no lock. */
export async function putOffMailEvents(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
  until: Date,
): Promise<void> {
  await sql`
    update outbox set attempts = attempts + 1, due_at = ${until}
    where id in (
      select id from outbox
      where kind = 'mail_event' and contact_id = ${contactId} and workspace_id = ${workspaceId}
      for update skip locked
    )
  `.execute(trx)
}
