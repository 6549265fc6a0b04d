// Reads schedules of active workflows, the members for whom they start executions, and how many of their starts wait.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isLiveAudience } from '../audiences/live.ts'
import type { Db } from '../connect.ts'
import { isQueued, ofLines, startsOf } from '../outbox.ts'
import type { Row } from '../schema.ts'

export type ScheduleRow = Row<'schedules'>

/** The node of a workflow that is a schedule. */
export interface ScheduleKey {
  workflowId: string
  nodeId: string
}

/** The schedule, in any workspace; undefined if its workflow has it no more, or is not active. */
export function findSchedule(
  db: Db,
  { workflowId, nodeId }: ScheduleKey,
): Promise<ScheduleRow | undefined> {
  return db
    .selectFrom('schedules')
    .selectAll()
    .where('workflow_id', '=', workflowId)
    .where('node_id', '=', nodeId)
    .executeTakeFirst()
}

/** Nodes of a workflow that have a schedule. */
export async function listScheduleNodes(
  db: Db,
  workspaceId: WorkspaceId,
  workflowId: string,
): Promise<string[]> {
  const rows = await db
    .selectFrom('schedules')
    .select('node_id')
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', workflowId)
    .orderBy('node_id')
    .execute()
  return rows.map((row) => row.node_id)
}

const subscribedEmails = (db: Db, workspaceId: WorkspaceId, audienceId: string) =>
  db
    .selectFrom('audience_contacts')
    .select('email')
    .where('workspace_id', '=', workspaceId)
    .where('audience_id', '=', audienceId)
    .where(isLiveAudience(sql.val(audienceId)))
    .where('is_subscribed', '=', true)

/** Addresses of subscribed members of an audience, in their order, from the one after `after` on. */
export async function listMemberEmails(
  db: Db,
  workspaceId: WorkspaceId,
  audienceId: string,
  page: { after: string; limit: number },
): Promise<string[]> {
  const rows = await subscribedEmails(db, workspaceId, audienceId)
    .where('email', '>', page.after)
    .orderBy('email')
    .limit(page.limit)
    .execute()
  return rows.map((row) => row.email)
}

/** Which of these addresses are subscribed members of an audience now. */
export async function listMembersAmong(
  db: Db,
  workspaceId: WorkspaceId,
  audienceId: string,
  emails: readonly string[],
): Promise<string[]> {
  const rows = await subscribedEmails(db, workspaceId, audienceId)
    .where('email', 'in', emails)
    .execute()
  return rows.map((row) => row.email)
}

/** Whether starts of a workflow wait for Temporal that it has not refused. */
export async function hasStartsLeft(
  db: Db,
  workspaceId: WorkspaceId,
  workflowId: string,
): Promise<boolean> {
  const { rows } = await sql`
    select from outbox
    where ${ofLines(false)} and workspace_id = ${workspaceId} and ${startsOf} = ${workflowId} limit 1
  `.execute(db)
  return rows.length > 0
}

/** A position in the order of schedules. */
export interface SchedulePosition {
  workflow_id: string
  node_id: string
}

export interface LiveSchedule
  extends SchedulePosition,
    Pick<ScheduleRow, 'schedule' | 'handled_until' | 'due_at' | 'paged_at'> {
  workspace_id: WorkspaceId
  /** Whether a row about it is in the outbox: Temporal is still to be told something. */
  is_queued: boolean
}

/** Schedules of all workspaces that have times left, in their order. */
export async function listLiveSchedules(
  db: Db,
  after: SchedulePosition | null,
  limit: number,
): Promise<LiveSchedule[]> {
  const { rows } = await sql<LiveSchedule>`
    select s.workflow_id, s.node_id, s.workspace_id, s.schedule, s.handled_until, s.due_at, s.paged_at,
      ${isQueued(sql`s.workflow_id || '/' || s.node_id`)} as is_queued
    from schedules s
    where not s.is_over
      and (s.workflow_id, s.node_id) > (${after?.workflow_id ?? ''}, ${after?.node_id ?? ''})
    order by s.workflow_id, s.node_id limit ${limit}
  `.execute(db)
  return rows
}
