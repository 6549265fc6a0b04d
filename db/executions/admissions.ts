// Reads whether contacts have entered workflows before, each one of its own, by one statement.

import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Json } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import type { Trx } from '../connect.ts'
import { unseen } from '../unseen.ts'
import { isFoundLive } from './live.ts'

export interface AskedEntry {
  contactId: string
  workflowId: string
  /** Which earlier executions are asked for: those of any time, that have not ended, or that started after a time; null: none. */
  earlier: 'any' | 'live' | { since: Date } | null
  /**
   * Of these only those whose triggering properties have this value at this path (undefined: no value), and this `status` or
   * none (those of before had none; null: any); null: all.
   */
  key: { path: string[]; value: Json | undefined; status: string | null } | null
  /** Whether `limits.entriesPerHourMax` have started since then is `often`. */
  oftenSince: Date
}

interface Admission {
  /** Whether there is such an earlier execution. */
  earlier: boolean
  often: boolean
}

/** What each of these has entered before. Call it with the locks of the contacts held. */
export async function listAdmissions(
  trx: Trx,
  workspaceId: WorkspaceId,
  asked: readonly AskedEntry[],
): Promise<Admission[]> {
  const given = asked.map(({ contactId, workflowId, earlier, key, oftenSince }, place) => ({
    place,
    contact_id: contactId,
    workflow_id: workflowId,
    look: earlier !== null && typeof earlier === 'object' ? 'since' : earlier,
    since: earlier !== null && typeof earlier === 'object' ? earlier.since : null,
    key_path: key?.path ?? null,
    key_value: key?.value === undefined ? null : JSON.stringify(key.value),
    key_status: key?.status ?? null,
    often_since: oftenSince,
  }))
  const isOfContact = sql`x.workspace_id = ${workspaceId} and x.contact_id = g.contact_id`
  const isOfWorkflow = sql`x.workflow_id = g.workflow_id`
  const isSuch = (which: RawBuilder<unknown>) => sql`exists (select from executions x
    where ${isOfContact} and ${which} and (g.key_path is null or exists (select from (select coalesce(
        (select a.properties from automation_events a where a.id = x.trigger_event_id and a.contact_id = x.contact_id), x.properties) as of) began
      where began.of #> g.key_path is not distinct from g.key_value::jsonb
        and (g.key_status is null or coalesce(began.of ->> 'status', g.key_status) = g.key_status))))`
  const { rows } = await sql<Admission>`
    with given as (
      select * from jsonb_to_recordset(${unseen(sql`${JSON.stringify(given)}::jsonb`)}) as g(place integer, contact_id text,
        workflow_id text, look text, since timestamptz, key_path text[], key_value text, key_status text, often_since timestamptz)
    )
    select
      coalesce(case g.look when 'any' then ${isSuch(isOfWorkflow)} when 'live' then ${isSuch(sql`${isOfWorkflow} and ${isFoundLive('x')}`)}
        when 'since' then ${isSuch(sql`${isOfWorkflow} and x.created_at > g.since`)} end, false) as earlier,
      coalesce((select x.created_at from executions x where ${isOfContact} and ${isOfWorkflow}
        order by x.created_at desc offset ${limits.entriesPerHourMax - 1}::int limit 1) >= g.often_since, false) as often
    from given g order by g.place
  `.execute(trx)
  return rows
}
