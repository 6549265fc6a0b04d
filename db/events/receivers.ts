// Finds triggers of active workflows and open waits of a contact for an event.

import { sql } from 'kysely'
import type { Condition } from '../../rules/conditions/types.ts'
import type { ReEntry } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import { isLive } from '../executions/live.ts'
import { isAboutWorkflow } from '../opt-outs/reads.ts'
import type { JsonObject } from '../schema.ts'

export interface EventReceivers {
  /** At most one for each workflow. */
  triggers: { workflow_id: string; node_id: string; version: number }[]
  waits: { execution_id: string; workflow_id: string; segment: number; node_id: string }[]
}

export interface ArrivedEvent {
  eventName: string
  email: string
  properties: JsonObject
  contact: { id: string; firstSeen: Date; properties: JsonObject }
  /** HMAC of the address. */
  hmac: Buffer
  now: Date
}

export interface TriggerRow {
  workflow_id: string
  node_id: string
  version: number
  filter: Condition | null
  re_entry: ReEntry | null
}

export interface WaitRow {
  execution_id: string
  workflow_id: string
  segment: number
  node_id: string
  filter: Condition | null
  /** Properties of the triggering event; null if the wait has no filter. */
  trigger: JsonObject | null
  wait_events: Record<string, JsonObject> | null
}

/** Finds triggers and waits for an event of that name. Their filters are not evaluated here. */
export async function findCandidates(
  trx: Trx,
  workspaceId: WorkspaceId,
  { eventName, contact, hmac }: ArrivedEvent,
): Promise<{ triggers: TriggerRow[]; waits: WaitRow[] }> {
  const { rows } = await sql<{ triggers: TriggerRow[]; waits: WaitRow[] }>`
    select
      coalesce((
        select json_agg(json_build_object('workflow_id', t.workflow_id, 'node_id', t.node_id,
          'version', t.version, 'filter', t.filter, 're_entry', t.re_entry)
          order by t.workflow_id, t.position)
        from workflow_triggers t
        where t.workspace_id = ${workspaceId} and t.event_name = ${eventName}
          and not exists (select from opt_outs o
            where o.workspace_id = ${workspaceId} and o.address_hmac = ${hmac}
              and ${isAboutWorkflow(sql`t.workflow_id`)})
      ), '[]') as triggers,
      coalesce((
        select json_agg(json_build_object('execution_id', w.execution_id,
          'workflow_id', x.workflow_id, 'segment', w.segment, 'node_id', w.node_id,
          'filter', w.filter,
          'trigger', case when w.filter is not null then coalesce(x.properties, (
            select a.properties from automation_events a where a.id = x.trigger_event_id)) end,
          'wait_events', case when w.filter is not null then (
            select json_object_agg(d.node_id, a.properties order by d.segment)
            from event_waits d join automation_events a on a.id = d.consumed_by
            where d.execution_id = w.execution_id) end)
          order by w.execution_id, w.segment)
        from event_waits w join executions x on x.id = w.execution_id
        where w.workspace_id = ${workspaceId} and w.contact_id = ${contact.id}
          and w.event_name = ${eventName}
          and w.consumed_by is null and ${isLive('x')}
      ), '[]') as waits
  `.execute(trx)
  return rows[0] ?? { triggers: [], waits: [] }
}

/**
 * The contacts with a trigger or an open wait for their event. A trigger of the workspace counts for every
 * contact.
 */
export async function listAwaited(
  trx: Trx,
  workspaceId: WorkspaceId,
  events: readonly { contact_id: string; name: string }[],
): Promise<Set<string>> {
  const { rows } = await sql<{ contact_id: string }>`
    select distinct contact_id from unnest(${events.map((event) => event.contact_id)}::text[],
      ${events.map((event) => `email.${event.name}`)}::text[]) as e (contact_id, name)
    where exists (select from workflow_triggers t
        where t.workspace_id = ${workspaceId} and t.event_name = e.name)
      or exists (select from event_waits w
        where w.contact_id = e.contact_id and w.event_name = e.name and w.consumed_by is null)
  `.execute(trx)
  return new Set(rows.map((row) => row.contact_id))
}
