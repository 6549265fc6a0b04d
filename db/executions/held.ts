// Executions that a paused workflow holds: whether it does, which those are, and their release.
import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { HeldAction } from '../../rules/wire.ts'
import type { Db, Trx } from '../connect.ts'
import { outboxRows } from '../outbox.ts'
import { isLive } from './live.ts'

/** A query: whether a workflow is not active. An archived one goes on, since nobody could make it active again. */
export const isPaused = (workflowId: RawBuilder<unknown>) => sql<boolean>`
  select w.status <> 'active' and w.archived_at is null from workflows w where w.id = ${workflowId}`

/** A query: whether a workflow that is active again cancels what it held and has not let go yet. */
export const cancelsHeld = (workflowId: RawBuilder<unknown>) => sql<boolean>`
  select w.status = 'active' and w.held = 'cancel' and w.archived_at is null from workflows w where w.id = ${workflowId}`

/**
 * Whether a workflow is paused, under a shared lock of its row until the end of the transaction: what it holds then is committed
 * before the workflow can be active again, and so found by whoever releases it. The lock comes after that of the contact; who
 * changes a workflow takes no lock after its own.
 */
export async function lockPaused(
  trx: Trx,
  workspaceId: WorkspaceId,
  workflowId: string,
): Promise<boolean> {
  const { rows } = await sql<{ is_paused: boolean }>`
    select w.status <> 'active' and w.archived_at is null as is_paused from workflows w
    where w.workspace_id = ${workspaceId} and w.id = ${workflowId} for share
  `.execute(trx)
  return rows[0]?.is_paused ?? false
}

/** Workflows that are not paused and hold executions still. One step down the index for each that holds any. */
export async function listHolding(
  db: Db,
  limit: number,
): Promise<{ id: string; workspace_id: WorkspaceId }[]> {
  const { rows } = await sql<{ id: string; workspace_id: WorkspaceId }>`
    with recursive held (id) as (
      (select held_workflow_id from event_waits
        where held_workflow_id is not null and ended_by is null order by held_workflow_id limit 1)
      union all
      select (select n.held_workflow_id from event_waits n
        where n.held_workflow_id > held.id and n.held_workflow_id is not null and n.ended_by is null
        order by n.held_workflow_id limit 1)
      from held where held.id is not null
    )
    select x.id, x.workspace_id from held join workflows x on x.id = held.id
    where x.status = 'active' or x.archived_at is not null limit ${limit}
  `.execute(db)
  return rows
}

export interface HeldRow {
  execution_id: string
  workspace_id: WorkspaceId
  contact_id: string
  action: HeldAction
}

/** A query: executions that a workflow holds although it is active again, and what is to become of them. */
const heldOf = (workflowId: string) => sql`
    select w.execution_id, w.workspace_id, w.contact_id,
      case when x.archived_at is null then x.held else 'release' end as action
    from event_waits w join workflows x on x.id = w.held_workflow_id
    where w.held_workflow_id = ${workflowId} and w.ended_by is null
      and (x.status = 'active' or x.archived_at is not null)`

/** A page of them, oldest first. @param after the last one of the page before; '' begins */
export async function listHeld(
  db: Db,
  workflowId: string,
  { after, limit }: { after: string; limit: number },
): Promise<HeldRow[]> {
  const { rows } = await sql<HeldRow>`${heldOf(workflowId)} and w.execution_id > ${after}
    order by w.execution_id limit ${limit}`.execute(db)
  return rows
}

/** One of them; undefined: it is none. */
export async function findHeld(
  db: Db,
  workspaceId: WorkspaceId,
  { workflowId, executionId }: { workflowId: string; executionId: string },
): Promise<HeldRow | undefined> {
  const { rows } = await sql<HeldRow>`${heldOf(workflowId)}
      and w.workspace_id = ${workspaceId} and w.execution_id = ${executionId} limit 1`.execute(db)
  return rows[0]
}

/** Ends the hold of an execution, whose lock the caller has, and tells Temporal. The caller wakes the outbox. */
export async function releaseExecution(
  trx: Trx,
  workspaceId: WorkspaceId,
  executionId: string,
  now: Date,
): Promise<void> {
  const told = sql`
    select 'signal' as kind, r.execution_id, x.workspace_id, x.workflow_id, x.contact_id,
      jsonb_build_object('segment', r.segment) as payload
    from released r join executions x on x.id = r.execution_id`
  await sql`
    with released as (
      update event_waits w set ended_by = 'release'
      from executions x
      where x.workspace_id = ${workspaceId} and x.id = ${executionId} and ${isLive('x')}
        and w.execution_id = x.id and w.held_workflow_id is not null and w.ended_by is null
      returning w.execution_id, w.segment
    )
    ${outboxRows(told, now)}
  `.execute(trx)
}
