// Writes workflows and their immutable versions.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { NewRow } from '../schema.ts'
import type { WorkflowRow } from './reads.ts'

/** Locks a workflow that is not archived, so that one transaction at a time saves, activates or archives it. */
export function lockWorkflow(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<WorkflowRow | undefined> {
  return trx
    .selectFrom('workflows')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('archived_at', 'is', null)
    .forUpdate()
    .executeTakeFirst()
}

/** Writes a workflow. The caller writes its first version and its triggers. */
export async function insertWorkflow(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<NewRow<'workflows'>, 'workspace_id'>,
): Promise<void> {
  await trx
    .insertInto('workflows')
    .values({ ...row, workspace_id: workspaceId })
    .execute()
}

/** Writes a version of a workflow; its design never changes. */
export async function insertWorkflowVersion(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<NewRow<'workflow_versions'>, 'workspace_id'>,
): Promise<void> {
  await trx
    .insertInto('workflow_versions')
    .values({ ...row, workspace_id: workspaceId })
    .execute()
}

/** Sets the semantics under which a version runs that was never active, so that no execution began under others. */
export async function setEngine(
  trx: Trx,
  workspaceId: WorkspaceId,
  version: { workflowId: string; version: number; engine: number },
): Promise<void> {
  await trx
    .updateTable('workflow_versions')
    .set({ engine: version.engine })
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', version.workflowId)
    .where('version', '=', version.version)
    .where('engine', '<', version.engine)
    .execute()
}

/** Changes a locked workflow; `updated_at` always moves, even within one millisecond. */
export function updateWorkflow(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  change: Partial<
    Pick<WorkflowRow, 'name' | 'status' | 'current_version' | 'active_version' | 'held'>
  > & {
    archived_at?: Date
  },
  now: Date,
): Promise<WorkflowRow> {
  return trx
    .updateTable('workflows')
    .set({
      ...change,
      updated_at: sql`greatest(${now}::timestamptz, updated_at + interval '1 millisecond')`,
    })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}
