// Writes executions: manual starts, cancellations, ends.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'
import type { EndedStatus, JsonObject } from '../schema.ts'

/** One execution, or every one of a contact in a workflow. */
export type CancelWhere = { executionId: string } | { workflowId: string; contactId: string }

/**
 * Cancels the live executions that fit: from the commit on they read CANCELLED and run no further segment, whatever
 * Temporal still has to close. Deletes their open waits and writes the outbox; wake the starter when ids come back.
 */
export async function cancelExecutions(
  trx: Trx,
  workspaceId: WorkspaceId,
  where: CancelWhere,
  reason: string,
  now: Date,
): Promise<string[]> {
  const contactOf =
    'executionId' in where
      ? sql`(select contact_id from executions
          where id = ${where.executionId} and workspace_id = ${workspaceId})`
      : sql`${where.contactId}`
  await sql`select from contacts where id = ${contactOf} for update`.execute(trx)
  const fits =
    'executionId' in where
      ? sql`x.id = ${where.executionId}`
      : sql`x.contact_id = ${where.contactId} and x.workflow_id = ${where.workflowId}`
  // After the lock, so that its snapshot shows what the last segment wrote.
  const { rows } = await sql<{ id: string }>`
    with last as (
      select x.id, s.node_id, s.seq
      from executions x left join lateral (
        select node_id, seq from execution_steps
        where execution_id = x.id order by seq desc limit 1) s on true
      where x.workspace_id = ${workspaceId} and ${fits} and x.ended_status is null
      order by x.id for update of x
    ), ended as (
      update executions x set ended_status = 'CANCELLED', cancellation_reason = ${reason},
        current_step_id = coalesce(last.node_id, ''), step_count = coalesce(last.seq, 0),
        updated_at = ${now}, completed_at = ${now}
      from last where x.id = last.id
      returning x.id, x.workflow_id, x.contact_id
    ), unwaited as (
      delete from event_waits w using ended
      where w.execution_id = ended.id and w.consumed_by is null
    ), told as (
      insert into outbox (kind, execution_id, workspace_id, workflow_id, contact_id, payload,
        next_at, created_at)
      select 'cancel', id, ${workspaceId}, workflow_id, contact_id,
        jsonb_build_object('reason', ${reason}::text), ${now}::timestamptz, ${now}::timestamptz
      from ended order by id
    )
    select id from ended order by id
  `.execute(trx)
  return rows.map((row) => row.id)
}

export interface ManualStart {
  id: string
  workspaceId: WorkspaceId
  workflowId: string
  version: number
  contactId: string
  email: string
  triggerNodeId: string
  properties: JsonObject
  now: Date
}

/** An execution that was started by hand, with its outbox row; the caller holds the contact's lock. */
export async function insertManualStart(trx: Trx, start: ManualStart): Promise<void> {
  await sql`
    with started as (
      insert into executions (id, workspace_id, workflow_id, version, contact_id, email,
        trigger_node_id, properties, created_at, updated_at)
      values (${start.id}, ${start.workspaceId}, ${start.workflowId}, ${start.version},
        ${start.contactId}, ${start.email}, ${start.triggerNodeId},
        ${JSON.stringify(start.properties)}::jsonb, ${start.now}, ${start.now})
    )
    insert into outbox (kind, execution_id, workspace_id, workflow_id, contact_id, payload,
      next_at, created_at)
    values ('start', ${start.id}, ${start.workspaceId}, ${start.workflowId}, ${start.contactId},
      '{}', ${start.now}, ${start.now})
  `.execute(trx)
}

/** Closes the row of an execution that Temporal has cancelled; a row that has ended stays as it is. */
export async function closeExecution(
  db: Db,
  executionId: string,
  end: { status: EndedStatus; reason: string | null; error: string | null },
  now: Date,
): Promise<void> {
  await sql`
    with gone as (
      delete from event_waits where execution_id = ${executionId} and consumed_by is null
    ),
    last as (
      select coalesce(max(seq), 0) as step_count,
        coalesce((array_agg(node_id order by seq desc))[1], '') as step_id
      from execution_steps where execution_id = ${executionId}
    )
    update executions set ended_status = ${end.status}, cancellation_reason = ${end.reason},
      error = ${end.error}, current_step_id = last.step_id, step_count = last.step_count,
      updated_at = ${now}, completed_at = ${now}
    from last where id = ${executionId} and ended_status is null
  `.execute(db)
}
