// The outbox: rows that the starter hands to Temporal, or that the pump records for contacts. Writes, locks and
// removes them.

import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../rules/ids.ts'
import type { OutboxKind } from '../rules/wire.ts'
import type { Trx } from './connect.ts'
import type { Row } from './schema.ts'

type OutboxRow = Row<'outbox'>

/** A row that the starter hands to Temporal. */
export type TemporalRow = OutboxRow & { kind: Exclude<OutboxKind, 'mail_event'> }

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
 * Locks due rows for Temporal until the transaction ends. Of each execution it takes only the oldest row, so that
 * a start comes before its signals and its cancellation. Rows that another worker has locked are skipped, and so
 * are rows of the kind `mail_event`, which are not for Temporal.
 */
export async function lockOutbox(trx: Trx, now: Date, limit: number): Promise<TemporalRow[]> {
  return (
    trx
      .selectFrom('outbox as o')
      .selectAll()
      .where('next_at', '<=', now)
      // A literal, so that the planner can use the partial index.
      .where(sql<boolean>`o.kind <> 'mail_event'`)
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('outbox as earlier')
              .select('earlier.id')
              .whereRef('earlier.execution_id', '=', 'o.execution_id')
              .whereRef('earlier.id', '<', 'o.id')
              .where(sql<boolean>`earlier.kind <> 'mail_event'`),
          ),
        ),
      )
      .orderBy('next_at')
      .orderBy('id')
      .limit(limit)
      .forUpdate()
      .skipLocked()
      .$castTo<TemporalRow>()
      .execute()
  )
}

/** Removes rows that Temporal has taken and puts off those that it refused, in one statement. */
export async function settleOutbox(
  trx: Trx,
  done: number[],
  putOff: { ids: number[]; until: Date },
): Promise<void> {
  await sql`
    with gone as (delete from outbox where id = any(${done}::bigint[]))
    update outbox set attempts = attempts + 1, next_at = ${putOff.until}
    where id = any(${putOff.ids}::bigint[])
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
