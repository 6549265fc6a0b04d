// Writes schedules of active workflows, and the executions that they start.
import { type SqlBool, sql } from 'kysely'
import type { ScheduleTrigger } from '../../rules/design/triggers.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { eventsOf } from '../events/writes.ts'
import { outboxRows } from '../outbox.ts'
import type { ScheduleKey, ScheduleRow } from './reads.ts'

/** Locks a schedule, after the contacts of a page of its members. */
export function lockSchedule(
  trx: Trx,
  workspaceId: WorkspaceId,
  { workflowId, nodeId }: ScheduleKey,
): Promise<ScheduleRow | undefined> {
  return trx
    .selectFrom('schedules')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', workflowId)
    .where('node_id', '=', nodeId)
    .forUpdate()
    .executeTakeFirst()
}

/** Deletes the schedules of a locked workflow but those of some nodes. */
export async function deleteSchedules(
  trx: Trx,
  workspaceId: WorkspaceId,
  workflowId: string,
  butNodes: readonly string[],
): Promise<void> {
  await trx
    .deleteFrom('schedules')
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', workflowId)
    .where(sql<SqlBool>`node_id <> all(${butNodes}::text[])`)
    .execute()
}

/**
 * Writes the schedule of a node of a locked workflow. One that has the same times and audience as before goes on where it is, by
 * the new version; any other begins anew: its times before `at` are over.
 */
export async function upsertSchedule(
  trx: Trx,
  workspaceId: WorkspaceId,
  workflow: { id: string; version: number },
  trigger: ScheduleTrigger,
  at: Date,
): Promise<void> {
  const isSame = sql`(schedules.schedule = excluded.schedule and schedules.audience_id = excluded.audience_id)`
  const kept = (column: string) =>
    sql`case when ${isSame} then schedules.${sql.ref(column)} else excluded.${sql.ref(column)} end`
  const json = (value: object | null) => value && JSON.stringify(value)
  await sql`
    insert into schedules (workflow_id, node_id, workspace_id, version, schedule, audience_id, filter,
      re_entry, handled_until)
    values (${workflow.id}, ${trigger.node_id}, ${workspaceId}, ${workflow.version},
      ${json(trigger.schedule)}::jsonb, ${trigger.audience_id}, ${json(trigger.filter)}::jsonb,
      ${json(trigger.re_entry)}::jsonb, ${at})
    on conflict (workflow_id, node_id) do update set version = excluded.version,
      schedule = excluded.schedule, audience_id = excluded.audience_id, filter = excluded.filter,
      re_entry = excluded.re_entry, is_over = false, handled_until = ${kept('handled_until')},
      due_at = ${kept('due_at')}, after_email = ${kept('after_email')},
      paged_at = ${kept('paged_at')}, busy_since = ${kept('busy_since')}
  `.execute(trx)
}

/** Where a schedule is. */
export type ScheduleProgress = Partial<
  Pick<
    ScheduleRow,
    'handled_until' | 'due_at' | 'after_email' | 'paged_at' | 'busy_since' | 'is_over'
  >
>

/** Moves a locked schedule on. */
export async function updateSchedule(
  trx: Trx,
  workspaceId: WorkspaceId,
  { workflowId, nodeId }: ScheduleKey,
  progress: ScheduleProgress,
): Promise<void> {
  await trx
    .updateTable('schedules')
    .set(progress)
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', workflowId)
    .where('node_id', '=', nodeId)
    .execute()
}

/** Executions that one time of a schedule starts. */
export interface ScheduledStarts extends ScheduleKey {
  version: number
  scheduledAt: Date
  /** `email` in lower case. */
  starts: readonly { id: string; contact_id: string; email: string }[]
}

/**
 * Writes executions with their rows of the outbox; a contact whom this time has started one for gets no other. The caller holds
 * the contacts' locks and wakes the outbox.
 */
export async function insertScheduledStarts(
  trx: Trx,
  workspaceId: WorkspaceId,
  { workflowId, nodeId, version, scheduledAt, starts }: ScheduledStarts,
  now: Date,
): Promise<void> {
  const properties = JSON.stringify({ scheduled_at: scheduledAt.getTime() })
  await sql`
    with started as (
      insert into executions (id, workspace_id, workflow_id, version, contact_id, email,
        trigger_node_id, properties, scheduled_at, created_at, updated_at, events_before)
      select s.id, ${workspaceId}, ${workflowId}, ${version}::int, s.contact_id, s.email, ${nodeId},
        ${properties}::jsonb, ${scheduledAt}::timestamptz, ${now}::timestamptz, ${now}::timestamptz,
        ${eventsOf(workspaceId, sql`s.contact_id`)}
      from jsonb_to_recordset(${JSON.stringify(starts)}::jsonb)
        as s(id text, contact_id text, email text)
      on conflict (workflow_id, trigger_node_id, scheduled_at, contact_id)
        where scheduled_at is not null do nothing
      returning id, workspace_id, workflow_id, contact_id
    )
    ${outboxRows(
      sql`select 'start' as kind, id as execution_id, workspace_id, workflow_id, contact_id,
        '{}'::jsonb as payload from started`,
      now,
    )}
  `.execute(trx)
}
