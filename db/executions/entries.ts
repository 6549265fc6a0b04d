// Reads whether a contact has entered a workflow before.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Json } from '../../rules/json.ts'
import type { Trx } from '../connect.ts'
import { isLive } from './live.ts'

export interface EntryFilter {
  contactId: string
  workflowId: string
  /** Only executions that have not ended. */
  liveOnly: boolean
  /** Only executions that started after this time; null: any time. */
  since: Date | null
  /** Only those whose triggering properties have this value at this path (undefined: no value); null: all. */
  key: { path: string[]; value: Json | undefined } | null
}

/** Whether there is such an execution. Call it with the contact's lock held. */
export async function isEntered(
  trx: Trx,
  workspaceId: WorkspaceId,
  { contactId, workflowId, liveOnly, since, key }: EntryFilter,
): Promise<boolean> {
  const value = key?.value === undefined ? null : JSON.stringify(key.value)
  const { rows } = await sql`
    select from executions x
    left join automation_events a on a.id = x.trigger_event_id
    where x.workspace_id = ${workspaceId}
      and x.contact_id = ${contactId} and x.workflow_id = ${workflowId}
      and ${liveOnly ? isLive('x') : sql`true`}
      and ${since ? sql`x.created_at > ${since}` : sql`true`}
      and ${
        key
          ? sql`(coalesce(a.properties, x.properties) #> ${key.path}::text[])
              is not distinct from ${value}::jsonb`
          : sql`true`
      }
    limit 1
  `.execute(trx)
  return rows.length > 0
}

/** Whether a contact has started executions of a workflow at least so many times since then. */
export async function isEnteredOften(
  trx: Trx,
  workspaceId: WorkspaceId,
  entry: { contactId: string; workflowId: string; since: Date; times: number },
): Promise<boolean> {
  const { contactId, workflowId, since, times } = entry
  const row = await trx
    .selectFrom('executions')
    .select('created_at')
    .where('workspace_id', '=', workspaceId)
    .where('contact_id', '=', contactId)
    .where('workflow_id', '=', workflowId)
    .orderBy('created_at', 'desc')
    .offset(times - 1)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined && row.created_at >= since
}
