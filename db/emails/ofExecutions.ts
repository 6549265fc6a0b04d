// Reads the emails that executions sent, each with all that happened to it.

import { type SqlBool, sql } from 'kysely'
import type { Reach } from '../../rules/reach.ts'
import type { Db } from '../connect.ts'
import type { EmailStatus } from '../schema.ts'

export interface ExecutionEmailRow {
  id: string
  subject: string
  /** The contact, or the first of the team to whom it went instead; of those who were erased the name that their events have. */
  recipient: string
  workflow_id: string
  execution_id: string
  created_at: Date
  /** Of that recipient, in time order, without what machines opened or clicked; `at` in ms. */
  events: { status: EmailStatus; at: number }[]
}

/** A page of a workflow's emails after the id `after`, newest first. */
export function listWorkflowEmails(
  db: Db,
  reach: Reach,
  workflowId: string,
  page: { after: string | null; limit: number },
): Promise<ExecutionEmailRow[]> {
  const fits = sql<SqlBool>`m.workflow_id = ${workflowId}
    and ${page.after === null ? sql`true` : sql`m.id < ${page.after}`}`
  return listWithEvents(db, reach, fits, page.limit)
}

/** All emails of an execution, newest first. */
export function listExecutionEmails(
  db: Db,
  reach: Reach,
  executionId: string,
): Promise<ExecutionEmailRow[]> {
  return listWithEvents(db, reach, sql<SqlBool>`m.execution_id = ${executionId}`, null)
}

/**
 * The bare address of the first that a mail shows, which may have a name before it. Where nobody is left there, since they were erased, it is the
 * first to whom the mail went.
 */
const first = sql<string>`coalesce(substring(m."to"[1] from '<([^<>]+)>\\s*$'), m."to"[1], (
      select d.recipient from deliveries d where d.email_id = m.id order by d.id limit 1))`

async function listWithEvents(
  db: Db,
  reach: Reach,
  fits: ReturnType<typeof sql<SqlBool>>,
  limit: number | null,
): Promise<ExecutionEmailRow[]> {
  const { workspaceId, domainId } = reach
  const ofDomain = domainId === null ? sql`` : sql`and m.domain_id = ${domainId}`
  const { rows } = await sql<ExecutionEmailRow>`
    select m.id, m.subject, r.recipient, m.workflow_id, m.execution_id, m.created_at,
      coalesce((
        select json_agg(json_build_object('status', v.status,
          'at', (extract(epoch from v.at) * 1000)::bigint) order by v.at, v.id)
        from email_events v
        where v.workspace_id = ${workspaceId} and v.email_id = m.id and v.machine is null
          and lower(v.recipient) = lower(r.recipient)
      ), '[]') as events
    from emails m cross join lateral (select ${first} as recipient offset 0) r
    where m.workspace_id = ${workspaceId} ${ofDomain} and ${fits}
    order by m.id desc nulls last ${limit === null ? sql`` : sql`limit ${limit}`}
  `.execute(db)
  return rows
}
