// Reads workflows and their immutable versions.

import type { WorkspaceId } from '../../rules/ids.ts'
import type { WorkflowStatus } from '../../rules/states.ts'
import type { Db } from '../connect.ts'
import { newestFirst } from '../listOrder.ts'
import type { Row } from '../schema.ts'

export type WorkflowRow = Row<'workflows'>

export type WorkflowVersionRow = Row<'workflow_versions'>

/** A version as a list shows it. */
export type WorkflowVersionListRow = Pick<
  WorkflowVersionRow,
  'workflow_id' | 'version' | 'workspace_id' | 'created_by' | 'created_at'
>

/** A page of workflows that are not archived, after the id `after`, newest first. */
export function listWorkflows(
  db: Db,
  workspaceId: WorkspaceId,
  page: { status: WorkflowStatus | null; after: string | null; limit: number },
): Promise<WorkflowRow[]> {
  return db
    .selectFrom('workflows')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('archived_at', 'is', null)
    .$if(page.status !== null, (qb) => qb.where('status', '=', page.status as WorkflowStatus))
    .$if(page.after !== null, (qb) => qb.where('id', '<', page.after as string))
    .orderBy('id', newestFirst)
    .limit(page.limit)
    .execute()
}

/** A workflow that is not archived, with the design of its current version. */
export async function findWorkflow(
  db: Db,
  workspaceId: WorkspaceId,
  id: string,
): Promise<(WorkflowRow & { design: object }) | undefined> {
  // A subquery for the design, because the planner may run a join over every version of every workflow.
  const row = await db
    .selectFrom('workflows as w')
    .selectAll('w')
    .select((eb) =>
      eb
        .selectFrom('workflow_versions as v')
        .select('v.design')
        .whereRef('v.workflow_id', '=', 'w.id')
        .whereRef('v.version', '=', 'w.current_version')
        .as('design'),
    )
    .where('w.workspace_id', '=', workspaceId)
    .where('w.id', '=', id)
    .where('w.archived_at', 'is', null)
    .executeTakeFirst()
  if (!row) return undefined
  if (!row.design) throw new Error(`workflow ${id} has no version ${row.current_version}`)
  return { ...row, design: row.design }
}

/**
 * Whether the workspace has this workflow, archived or not: executions and emails of an archived one stay
 * readable.
 */
export async function isWorkflowKnown(
  db: Db,
  workspaceId: WorkspaceId,
  id: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('workflows')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row !== undefined
}

/** A version of a workflow with its design, also of an archived one. */
export function findWorkflowVersion(
  db: Db,
  workspaceId: WorkspaceId,
  workflowId: string,
  version: number,
): Promise<WorkflowVersionRow | undefined> {
  return db
    .selectFrom('workflow_versions')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', workflowId)
    .where('version', '=', version)
    .executeTakeFirst()
}

/** A page of a workflow's versions after the number `after`, newest first, without their designs. */
export function listWorkflowVersions(
  db: Db,
  workspaceId: WorkspaceId,
  workflowId: string,
  page: { after: number | null; limit: number },
): Promise<WorkflowVersionListRow[]> {
  return db
    .selectFrom('workflow_versions')
    .select(['workflow_id', 'version', 'workspace_id', 'created_by', 'created_at'])
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', workflowId)
    .$if(page.after !== null, (qb) => qb.where('version', '<', page.after as number))
    .orderBy('version', 'desc')
    .limit(page.limit)
    .execute()
}
