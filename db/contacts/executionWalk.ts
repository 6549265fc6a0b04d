// Walks once over all executions of an erased contact and blanks them, in pages: however many there are, each page reads its own alone.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type EndedStatus, endedStatuses } from '../../rules/states.ts'
import type { Trx } from '../connect.ts'
import { isOwnReason } from './blank.ts'

/** The last that was walked over. An erased contact's executions have all ended; they are walked over in the order of an index. */
export interface ExecutionPlace {
  status: EndedStatus
  /** When the execution ended, ms, which is all that the column holds. */
  at: number
  /** '' before the first. */
  id: string
}

/** The way to end whose executions are walked over next; null: there is none. @param status null: none was walked over */
export const endedNext = (status: EndedStatus | null): EndedStatus | null =>
  endedStatuses[status === null ? 0 : endedStatuses.indexOf(status) + 1] ?? null

/**
 * Blanks the executions behind a place, with what their nodes have read, asked and decided. They are found in the order of an index, and
 * locked in that of their ids, as everywhere.
 * @param page `after`: null begins
 * @returns `count`: how many were blanked; `next`: null after the last page
 */
export async function blankExecutions(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
  { after, limit }: { after: ExecutionPlace | null; limit: number },
): Promise<{ count: number; next: ExecutionPlace | null }> {
  const from = after ?? before(endedNext(null))
  if (!from) return { count: 0, next: null }
  // Lists of ids and no joins: where a table is taken for a small one, a join may read all of it.
  const ofPage = sql`any(array(select id from locked))`
  // The comment keeps the statement unnamed (db/statementNames.ts), so that it is planned by how much there is now.
  const { rows } = await sql<{ id: string; at: number }>`
    /* page */ with page as materialized (
      select id, completed_at from executions
      where workspace_id = ${workspaceId} and contact_id = ${contactId} and ended_status = ${from.status}
        and (completed_at, id) > (${new Date(from.at)}::timestamptz, ${from.id}::text)
      order by completed_at, id limit ${limit}
    ), locked as materialized (
      select id from executions where id = any(array(select id from page)) order by id for update
    ), steps as (
      update execution_steps set why = null where execution_id = ${ofPage} and why is not null
    ), waits as (
      delete from event_waits where execution_id = ${ofPage}
    ), calls as (
      update http_calls set request = null, answer = null, why = null where execution_id = ${ofPage}
    ), done as (
      update executions set email = '', properties = null, error = null, cancellation_reason = case
        when cancellation_reason is null or ${isOwnReason(sql`cancellation_reason`)} then cancellation_reason
        else 'cancelled' end
      where id = ${ofPage}
    )
    select id, (extract(epoch from completed_at) * 1000)::bigint as at from page order by completed_at, id
  `.execute(trx)
  const other = before(endedNext(from.status))
  if (rows.length === 0 && other) {
    return blankExecutions(trx, workspaceId, contactId, { after: other, limit })
  }
  const last = rows.length === limit ? rows.at(-1) : undefined
  return { count: rows.length, next: last ? { status: from.status, ...last } : other }
}

/** Before all executions that ended in that way. */
const before = (status: EndedStatus | null): ExecutionPlace | null =>
  status && { status, at: 0, id: '' }
