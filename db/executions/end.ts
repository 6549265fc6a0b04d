// The parts of SQL statements that end executions. No other code writes these columns.

import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { EndedStatus } from '../../rules/states.ts'
import { cleared } from '../suspects/writes.ts'
import { isFoundLive } from './live.ts'

export interface ExecutionEnd {
  status: EndedStatus
  /** Why it was cancelled. */
  reason: string | null
  /** The outcome that the design gives the end. */
  outcome: string | null
  error: string | null
}

/**
 * The assignments of an `update executions`. Use it only for rows that are live (`isFoundLive`), because an ended execution
 * must not change.
 */
export function endColumns(
  end: ExecutionEnd,
  last: { stepId: RawBuilder<string>; stepCount: RawBuilder<number> },
  now: Date,
): RawBuilder<unknown> {
  return sql`ended_status = ${end.status}, cancellation_reason = ${end.reason},
        outcome = ${end.outcome}, error = ${end.error},
        current_step_id = ${last.stepId}, step_count = ${last.stepCount},
        updated_at = ${now}, completed_at = ${now}`
}

/**
 * The statement that forgets the requests of ended executions that nobody has answered, and nobody makes any more: they hold values
 * of contacts and secrets. @param ids a `select` of the executions' ids, as `id`
 */
export const forgetRequests = (ids: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`update http_calls set request = null where execution_id = any(array(${ids})) and request is not null`

/**
 * Steps of a `with` that end matching live executions at their last logged step and delete their open waits, requests that are
 * still to be made and what they are suspected of. Those of a contact who was erased lose the address, before webhooks are told of their
 * end. The relation `ended` (id, workspace_id, workflow_id, contact_id) has the ended ones. What belongs to them is found by their
 * ids as an array: by a join with them, or by "is null" of waits, a plan that was kept from when the tables were small would read all that is
 * live. The update itself is a join, since it may end very many.
 * @param fits condition on `executions x`
 * @param found a further condition by which the update finds them, for a plan that is kept
 */
export function endLive(
  fits: RawBuilder<SqlBool>,
  end: ExecutionEnd,
  now: Date,
  found: RawBuilder<SqlBool> = sql`true`,
): RawBuilder<unknown> {
  const last = {
    stepId: sql<string>`coalesce(last.node_id, '')`,
    stepCount: sql<number>`coalesce(last.seq, 0)`,
  }
  return sql`last as (
      select x.id, s.node_id, s.seq, exists (select from contacts c
        where c.workspace_id = x.workspace_id and c.id = x.contact_id) as has_contact
      from executions x left join lateral (
        select node_id, seq from execution_steps
        where execution_id = x.id order by seq desc limit 1) s on true
      where ${fits} and ${isFoundLive('x')}
      order by x.id for update of x
    ), ended as (
      update executions x set ${endColumns(end, last, now)},
        email = case when last.has_contact then x.email else '' end,
        properties = case when last.has_contact then x.properties end
      from last where ${found} and x.id = last.id and ${isFoundLive('x')}
      returning x.id, x.workspace_id, x.workflow_id, x.contact_id
    ), unwaited as (
      delete from event_waits
      where execution_id = any(array(select id from ended)) and num_nulls(consumed_by) = 1
    ), uncalled as (${forgetRequests(sql`select id from ended`)}), cleared as (${cleared(sql`select id from ended`)})`
}
