// Reads executions from Postgres, which has their start and their end. Where a running one is, Temporal knows.

import { type SqlBool, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type EndedStatus, endedStatuses } from '../../rules/states.ts'
import type { Db } from '../connect.ts'
import type { Row } from '../schema.ts'
import { isLive } from './live.ts'

/** Whose executions a list shows. */
export type ListedBy = { workflowId: string } | { contactId: string }

const columns = [
  'id',
  'workspace_id',
  'workflow_id',
  'version',
  'contact_id',
  'email',
  'ended_status',
  'current_step_id',
  'step_count',
  'error',
  'cancellation_reason',
  'created_at',
  'updated_at',
  'completed_at',
] as const

export type ExecutionRow = Pick<Row<'executions'>, (typeof columns)[number]>

function ofOwner(by: ListedBy) {
  return 'workflowId' in by
    ? sql<SqlBool>`workflow_id = ${by.workflowId}`
    : sql<SqlBool>`contact_id = ${by.contactId}`
}

/** The row of an execution. The current state of a live one is in Temporal. */
export function findExecution(
  db: Db,
  workspaceId: WorkspaceId,
  id: string,
): Promise<ExecutionRow | undefined> {
  return db
    .selectFrom('executions')
    .select(columns)
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Rows by id, for executions that Temporal lists. */
export async function findExecutionsByIds(
  db: Db,
  workspaceId: WorkspaceId,
  ids: string[],
): Promise<Map<string, ExecutionRow>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('executions')
    .select(columns)
    .where('workspace_id', '=', workspaceId)
    .where(sql<SqlBool>`id = any(${ids}::text[])`)
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** Whether a segment of the execution is committed: one look into the index for each row, never a join of both tables. */
const hasSegment = () =>
  sql<SqlBool>`coalesce((select true from execution_segments s
    where s.execution_id = executions.id limit 1), false)`

/** Of some executions of a workspace, those that have not ended and have committed no segment yet. */
export async function listWithoutSegment(
  db: Db,
  workspaceId: WorkspaceId,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await db
    .selectFrom('executions')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where(sql<SqlBool>`id = any(${ids}::text[])`)
    .where(isLive())
    .where(sql<SqlBool>`not ${hasSegment()}`)
    .execute()
  return rows.map((row) => row.id)
}

/** Of some executions, in any workspace, those that have not ended. */
export async function listLiveIds(db: Db, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('executions')
    .select('id')
    .where(sql<SqlBool>`id = any(${ids}::text[])`)
    .where(isLive())
    .execute()
  return rows.map((row) => row.id)
}

/** A position in a list that is ordered by a time and then the id, both descending. */
export interface TimePosition {
  at_ms: number
  id: string
}

const beyond = (column: 'created_at' | 'completed_at', after: TimePosition) =>
  sql<SqlBool>`(${sql.ref(column)}, id) < (${new Date(after.at_ms)}::timestamptz, ${after.id})`

export type LiveExecutionRow = ExecutionRow & {
  /** Whether it has run nothing and its start is in the outbox: Temporal need not be asked. */
  is_pending: boolean
}

/** The row of a start may stay for a moment after Temporal has taken it. One look into the index for each row. */
const isPending = () =>
  sql<boolean>`coalesce((select true from outbox o
    where o.execution_id = executions.id and o.kind = 'start' limit 1), false) and not ${hasSegment()}`

/** Executions that have not ended, newest first; `begun`: only those with a segment. */
export function listLiveExecutions(
  db: Db,
  workspaceId: WorkspaceId,
  by: ListedBy,
  page: { after: TimePosition | null; begun: boolean; limit: number },
): Promise<LiveExecutionRow[]> {
  const { after } = page
  return db
    .selectFrom('executions')
    .select(columns)
    .select(isPending().as('is_pending'))
    .where('workspace_id', '=', workspaceId)
    .where(ofOwner(by))
    .where(isLive())
    .$if(page.begun, (qb) => qb.where(hasSegment()))
    .$if(after !== null, (qb) => qb.where(beyond('created_at', after as TimePosition)))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
    .execute()
}

/**
 * Executions that have ended, the latest end first. Each status is read by its index, then the results are merged.
 */
export async function listEndedExecutions(
  db: Db,
  workspaceId: WorkspaceId,
  by: ListedBy,
  page: { status: EndedStatus | null; after: TimePosition | null; limit: number },
): Promise<ExecutionRow[]> {
  const { status, after, limit } = page
  const { rows } = await sql<ExecutionRow>`
    select e.* from unnest(${status ? [status] : endedStatuses}::text[]) as wanted(status)
    cross join lateral (
      select ${sql.join(columns.map((column) => sql.ref(column)))} from executions
      where workspace_id = ${workspaceId} and ${ofOwner(by)} and ended_status = wanted.status
        and ${after ? beyond('completed_at', after) : sql`true`}
      order by completed_at desc, id desc limit ${limit}
    ) as e
    order by e.completed_at desc, e.id desc limit ${limit}
  `.execute(db)
  return rows
}

/** The steps of an execution after number `after`, in order. */
export function listSteps(
  db: Db,
  workspaceId: WorkspaceId,
  executionId: string,
  page: { after: number; limit: number },
) {
  return db
    .selectFrom('execution_steps')
    .select(['seq', 'segment', 'node_id', 'type', 'handle', 'why', 'at'])
    .where('execution_id', '=', executionId)
    .where((eb) =>
      // execution_steps has no workspace_id, so the workspace is checked once, through the execution.
      eb(
        eb.selectFrom('executions').select('workspace_id').where('id', '=', executionId),
        '=',
        workspaceId,
      ),
    )
    .where('seq', '>', page.after)
    .orderBy('seq')
    .limit(page.limit)
    .execute()
}
