// Reads executions that Temporal should run, to find those that it has lost, and what one of them starts from again.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import { isQueued } from '../outbox.ts'
import type { JsonObject } from '../schema.ts'
import { isLive } from './live.ts'

/** A position in the order of contacts, workflows and ids. */
export interface LivePosition {
  contact_id: string
  workflow_id: string
  id: string
}

export interface LiveRow extends LivePosition {
  workspace_id: WorkspaceId
  /** Whether a row about it is in the outbox: Temporal is still to be told something. */
  is_queued: boolean
}

/** Executions that have not ended, of all workspaces, in the order of the index of live ones. One look into the outbox for each. */
export async function listLiveRows(
  db: Db,
  after: LivePosition | null,
  limit: number,
): Promise<LiveRow[]> {
  const beyond = after
    ? sql`(e.contact_id, e.workflow_id, e.id) > (${after.contact_id}, ${after.workflow_id}, ${after.id})`
    : sql`true`
  const { rows } = await sql<LiveRow>`
    select e.id, e.workspace_id, e.workflow_id, e.contact_id,
      ${isQueued(sql`e.id`)} as is_queued
    from executions e
    where ${isLive('e')} and ${beyond}
    order by e.contact_id, e.workflow_id, e.id limit ${limit}
  `.execute(db)
  return rows
}

/** Whether one of these executions is still to be started. */
export async function isStartLeft(db: Db, ids: readonly string[]): Promise<boolean> {
  const { rows } = await sql`
    select from outbox where kind = 'start' and execution_id = any(${ids}::text[]) limit 1
  `.execute(db)
  return rows.length > 0
}

/** What an execution goes on from. */
export interface Restart {
  id: string
  workspace_id: WorkspaceId
  workflow_id: string
  contact_id: string
  /** Its last segment with the stored result; null: it has run none. */
  segment: number | null
  result: JsonObject | null
  /** When that segment was written. */
  written_at: Date | null
  /** Whether Temporal is to be told now: the wait after it is over, or is to be looked at sooner. */
  is_over: boolean
  /** When it was last certain that Temporal ran it, or was to: a segment, or its start. */
  sign_at: Date
}

/** Whether a wait is to be looked at sooner than the segment said in which it began (`turns_at` of `WaitEffect`). */
const isSooner = sql`w.deadline is not null and extract(epoch from w.deadline) * 1000
          < coalesce(floor((s.result #>> '{next,until}')::numeric), 'infinity')`

/** undefined: it has ended, or Temporal is still to be told something about it. */
export async function findRestart(
  db: Db,
  workspaceId: WorkspaceId,
  executionId: string,
): Promise<Restart | undefined> {
  const { rows } = await sql<Restart>`
    select e.id, e.workspace_id, e.workflow_id, e.contact_id,
      s.segment, s.result, s.created_at as written_at,
      exists (select from event_waits w where w.execution_id = e.id and w.segment = s.segment
        and w.node_id = s.result #>> '{next,nodeId}'
        and (w.consumed_by is not null or w.ended_by is not null or ${isSooner})) as is_over,
      coalesce(greatest(e.created_at, s.created_at), e.created_at) as sign_at
    from executions e left join lateral (
      select segment, result, created_at from execution_segments
      where execution_id = e.id order by segment desc limit 1) s on true
    where e.workspace_id = ${workspaceId} and e.id = ${executionId} and ${isLive('e')}
      and not ${isQueued(sql`e.id`)}
  `.execute(db)
  return rows[0]
}
