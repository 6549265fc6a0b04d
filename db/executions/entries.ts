// Reads whether contacts have entered a workflow before.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Json } from '../../rules/json.ts'
import type { Trx } from '../connect.ts'
import { isLive } from './live.ts'

export interface EntryFilter {
  contactIds: readonly string[]
  workflowId: string
  /** Only executions that have not ended. */
  liveOnly: boolean
  /** Only executions that started after this time; null: any time. */
  since: Date | null
  /** Only those whose triggering properties have this value at this path (undefined: no value); null: all. */
  key: { path: string[]; value: Json | undefined } | null
}

/** Those of the contacts who have such an execution. Call it with their locks held. */
export async function listEntered(
  trx: Trx,
  workspaceId: WorkspaceId,
  { contactIds, workflowId, liveOnly, since, key }: EntryFilter,
): Promise<Set<string>> {
  const value = key?.value === undefined ? null : JSON.stringify(key.value)
  const { rows } = await sql<{ contact_id: string }>`
    select c.contact_id from unnest(${[...contactIds]}::text[]) as c (contact_id)
    cross join lateral (
      select from executions x
      left join automation_events a on a.id = x.trigger_event_id
      where x.workspace_id = ${workspaceId}
        and x.contact_id = c.contact_id and x.workflow_id = ${workflowId}
        and ${liveOnly ? isLive('x') : sql`true`}
        and ${since ? sql`x.created_at > ${since}` : sql`true`}
        and ${
          key
            ? sql`(coalesce(a.properties, x.properties) #> ${key.path}::text[])
                is not distinct from ${value}::jsonb`
            : sql`true`
        }
      limit 1
    ) as entered
  `.execute(trx)
  return new Set(rows.map((row) => row.contact_id))
}

/** Those of the contacts who have started executions of a workflow at least so many times since then. */
export async function listEnteredOften(
  trx: Trx,
  workspaceId: WorkspaceId,
  entry: { contactIds: readonly string[]; workflowId: string; since: Date; times: number },
): Promise<Set<string>> {
  const { contactIds, workflowId, since, times } = entry
  const { rows } = await sql<{ contact_id: string }>`
    select c.contact_id from unnest(${[...contactIds]}::text[]) as c (contact_id)
    cross join lateral (
      select x.created_at from executions x
      where x.workspace_id = ${workspaceId} and x.contact_id = c.contact_id
        and x.workflow_id = ${workflowId}
      order by x.created_at desc offset ${times - 1} limit 1
    ) as first
    where first.created_at >= ${since}
  `.execute(trx)
  return new Set(rows.map((row) => row.contact_id))
}
