// Writes executions: manual starts, cancellations, ends.

import { type SqlBool, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CancelCode } from '../../rules/wire.ts'
import type { Trx } from '../connect.ts'
import { eventsOf } from '../events/writes.ts'
import { outboxRows } from '../outbox.ts'
import type { JsonObject } from '../schema.ts'
import { type ExecutionEnd, endLive } from './end.ts'
import { isLive } from './live.ts'

/**
 * One execution, or `limit` of a contact's, or every one of a contact in a workflow; `butId`: that one stays. `onLeaving`: only those whose version is cancelled
 * when its contact leaves the workflow (`on_unsubscribe`).
 */
export type CancelWhere =
  | { executionId: string }
  | { ofContact: string; limit: number }
  | { workflowId: string; contactId: string; butId?: string; onLeaving?: boolean }

const isCancelledOnLeaving = sql<SqlBool>`not exists (select from workflow_versions v
            where v.workspace_id = x.workspace_id and v.workflow_id = x.workflow_id and v.version = x.version
              and v.design #>> '{settings,on_unsubscribe}' = 'skip_sends')`

/** Locks an execution, if there is one. What is read afterwards shows what its last segment wrote. */
export async function lockExecution(
  trx: Trx,
  workspaceId: WorkspaceId,
  executionId: string,
): Promise<void> {
  await trx
    .selectFrom('executions')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', executionId)
    .forUpdate()
    .execute()
}

/**
 * Cancels the matching live executions: after the commit they are CANCELLED and run no further segment, even
 * before Temporal has closed them. Writes the outbox: the caller wakes it if ids are returned. The caller holds
 * the lock of the contact or of the execution, so that this statement's snapshot shows what the last segment wrote.
 * @param why `reason` is shown with the execution; only `code` reaches Temporal
 * @returns ids of the cancelled executions
 */
export async function cancelExecutions(
  trx: Trx,
  workspaceId: WorkspaceId,
  where: CancelWhere,
  why: { code: CancelCode; reason: string },
  now: Date,
): Promise<string[]> {
  const fits =
    'executionId' in where
      ? sql<SqlBool>`x.workspace_id = ${workspaceId} and x.id = ${where.executionId}`
      : 'ofContact' in where
        ? sql<SqlBool>`x.id = any(array(select id from executions where workspace_id = ${workspaceId}
            and contact_id = ${where.ofContact} and ${isLive()} limit ${where.limit}))`
        : sql<SqlBool>`x.workspace_id = ${workspaceId} and x.contact_id = ${where.contactId}
          and x.workflow_id = ${where.workflowId} and ${isLive('x')} and x.id <> ${where.butId ?? ''}
          and ${where.onLeaving ? isCancelledOnLeaving : sql`true`}`
  const end: ExecutionEnd = { status: 'CANCELLED', reason: why.reason, outcome: null, error: null }
  const told = sql`
    select 'cancel' as kind, id as execution_id, workspace_id, workflow_id, contact_id,
      jsonb_build_object('reason', ${why.code}::text) as payload
    from ended`
  // The comment keeps the statement unnamed (db/statementNames.ts), so that it is planned by how much there is now: a plan that was kept
  // from when there were few live executions may read `executions_live_version` in place of `executions_live`. That takes `isLive`, too: the
  // condition of `endLive` takes no partial index.
  const { rows } = await sql<{ id: string }>`
    /* cancel */ with ${endLive(fits, end, now)}, written as (${outboxRows(told, now)})
    select id from ended order by id
  `.execute(trx)
  return rows.map((row) => row.id)
}

/**
 * Asks Temporal once more to cancel an execution that is cancelled, unless that is still to be done: the request may have
 * gone to an earlier run, which was reset. The caller wakes the outbox.
 */
export async function cancelAgain(
  trx: Trx,
  workspaceId: WorkspaceId,
  { executionId, code }: { executionId: string; code: CancelCode },
  now: Date,
): Promise<void> {
  const told = sql`
    select 'cancel' as kind, id as execution_id, workspace_id, workflow_id, contact_id,
      jsonb_build_object('reason', ${code}::text) as payload
    from executions x
    where x.workspace_id = ${workspaceId} and x.id = ${executionId}
      and not exists (select from outbox o where o.execution_id = x.id and o.kind = 'cancel')`
  await sql`${outboxRows(told, now)}`.execute(trx)
}

export interface ManualStart {
  id: string
  workflowId: string
  version: number
  contactId: string
  email: string
  triggerNodeId: string
  properties: JsonObject
  /** How many effects of executions have led to it; absent: none, as by a call of the API. */
  depth?: number
  now: Date
}

/** Writes an execution that a call of the API or a node starts, with its outbox row. The caller holds the contact's lock. */
export async function insertManualStart(
  trx: Trx,
  workspaceId: WorkspaceId,
  start: ManualStart,
): Promise<void> {
  const told = sql`
    select 'start' as kind, id as execution_id, workspace_id, workflow_id, contact_id,
      '{}'::jsonb as payload
    from started`
  await sql`
    with started as (
      insert into executions (id, workspace_id, workflow_id, version, contact_id, email,
        trigger_node_id, properties, chain_depth, created_at, updated_at, events_before)
      values (${start.id}, ${workspaceId}, ${start.workflowId}, ${start.version},
        ${start.contactId}, ${start.email}, ${start.triggerNodeId},
        ${JSON.stringify(start.properties)}::jsonb, ${start.depth ?? 0}, ${start.now}, ${start.now},
        ${eventsOf(workspaceId, sql`${start.contactId}`)})
      returning id, workspace_id, workflow_id, contact_id
    )
    ${outboxRows(told, start.now)}
  `.execute(trx)
}

/**
 * Ends the row of an execution that ended in Temporal, in any workspace. A row that has ended stays as it is. The row is
 * locked first, so that the snapshot of the second statement shows what its last segment wrote.
 */
export async function closeExecution(
  trx: Trx,
  executionId: string,
  end: ExecutionEnd,
  now: Date,
): Promise<void> {
  const isThis = sql<SqlBool>`x.id = ${executionId}`
  await sql`select from executions where id = ${executionId} for update`.execute(trx)
  await sql`
    with ${endLive(isThis, end, now, isThis)} select from ended
  `.execute(trx)
}
