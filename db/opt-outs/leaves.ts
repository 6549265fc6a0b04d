// Rows of the outbox for people who left by a GET: what it means is carried out when nobody can undo it any more.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'

export interface Leaver {
  workflowId: string
  contactId: string
}

/** A leave that is due. */
export interface DueLeave {
  id: number
  workspace_id: WorkspaceId
  workflow_id: string
  contact_id: string
}

/**
 * Writes the row. The caller holds the contact's lock.
 * @param cancels whether executions are to be cancelled, for workers of the release before: those of this one look at the version
 *   of each execution
 */
export async function insertLeave(
  trx: Trx,
  workspaceId: WorkspaceId,
  { workflowId, contactId }: Leaver,
  leave: { cancels: boolean; dueAt: Date; now: Date },
): Promise<void> {
  await sql`
    insert into outbox (kind, execution_id, workspace_id, workflow_id, contact_id, payload, next_at,
      due_at, created_at)
    values ('leave', '', ${workspaceId}, ${workflowId}, ${contactId},
      ${JSON.stringify({ cancels: leave.cancels })}::jsonb, 'infinity', ${leave.dueAt}, ${leave.now})
  `.execute(trx)
}

/** A GET of the link of a further email of the workflow, while the opt-out of another's is unconfirmed. */
export interface FurtherGet {
  emailId: string
  at: Date
}

/** The further GETs of a leave, oldest first; undefined if there is no leave. The caller holds the contact's lock. */
export async function findFurtherGets(
  trx: Trx,
  workspaceId: WorkspaceId,
  { workflowId, contactId }: Leaver,
): Promise<FurtherGet[] | undefined> {
  const row = await trx
    .selectFrom('outbox')
    .select('payload')
    .where('kind', '=', sql.lit('leave' as const))
    .where('workspace_id', '=', workspaceId)
    .where('contact_id', '=', contactId)
    .where('workflow_id', '=', workflowId)
    .executeTakeFirst()
  if (!row) return undefined
  const gets = (row.payload['further'] ?? []) as [emailId: string, at_ms: number][]
  return gets.map(([emailId, at_ms]) => ({ emailId, at: new Date(at_ms) }))
}

/** Replaces the further GETs of a leave. @param dueAt when the leave is due from now on; absent: as before */
export async function setFurtherGets(
  trx: Trx,
  workspaceId: WorkspaceId,
  { workflowId, contactId }: Leaver,
  further: readonly FurtherGet[],
  dueAt?: Date,
): Promise<void> {
  const given = { further: further.map(({ emailId, at }) => [emailId, at.getTime()]) }
  await sql`
    update outbox set payload = payload || ${JSON.stringify(given)}::jsonb,
      due_at = coalesce(${dueAt ?? null}::timestamptz, due_at)
    where kind = 'leave' and workspace_id = ${workspaceId} and contact_id = ${contactId}
      and workflow_id = ${workflowId}
  `.execute(trx)
}

/** Due leaves of all workspaces, oldest first. */
export function listDueLeaves(db: Db, now: Date, limit: number): Promise<DueLeave[]> {
  return db
    .selectFrom('outbox')
    .select(['id', 'workspace_id', 'workflow_id', 'contact_id'])
    .where('kind', '=', sql.lit('leave' as const))
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/**
 * Removes the row of a leave: it is carried out now, or undone. The caller holds the contact's lock.
 * @returns false if there was no row
 */
export async function takeLeave(
  trx: Trx,
  workspaceId: WorkspaceId,
  { workflowId, contactId }: Leaver,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('outbox')
    .where('kind', '=', sql.lit('leave' as const))
    .where('workspace_id', '=', workspaceId)
    .where('contact_id', '=', contactId)
    .where('workflow_id', '=', workflowId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Puts off a leave that could not be carried out, unless somebody is at its row. @returns false if somebody is */
export async function putOffLeave(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: number,
  until: Date,
): Promise<boolean> {
  const result = await trx
    .updateTable('outbox')
    .set((eb) => ({ due_at: until, attempts: eb('attempts', '+', 1) }))
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('outbox')
        .select('id')
        .where('workspace_id', '=', workspaceId)
        .where('id', '=', id)
        .forUpdate()
        .skipLocked(),
    )
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}
