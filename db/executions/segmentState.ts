// Reads, under the contact's lock, the state from which a segment decides.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { EndedStatus } from '../../rules/states.ts'
import type { WaitEndedBy } from '../../rules/wire.ts'
import type { Trx } from '../connect.ts'
import { isAboutWorkflow, standsFrom } from '../opt-outs/reads.ts'
import type { JsonObject } from '../schema.ts'
import { isErasedSuppressed } from '../suppressions/erased.ts'
import { unseen } from '../unseen.ts'
import { cancelsHeld, isPaused } from './held.ts'
import { receivedEvents, receivedNodes } from './received.ts'

export interface SegmentState<Result = unknown> {
  ended_status: EndedStatus | null
  error: string | null
  cancellation_reason: string | null
  /** Set if this segment was committed after the first read and before the lock. */
  result: Result | null
  /** automation_events.id that ended the wait of the segment before. */
  consumed_by: string | null
  /** What else ended that wait, and the goal to which it leads. */
  ended_by: WaitEndedBy | null
  leads_to: string | null
  /** When that wait is over or looked at, ms, as its row says now, and when the row was written; null: there was no wait, or no such time. */
  wait_until: number | null
  waited_since: number | null
  goals_reached: string[]
  /** Whether its workflow is not active, so that it may hold its executions; an archived one holds none. */
  is_paused: boolean
  /** Whether it was held, and its workflow is active again and about to cancel it. */
  awaits_cancel: boolean
  /** When the execution was started. */
  entered_at: Date
  chain_depth: number
  trigger_properties: JsonObject | null
  wait_events: Record<string, JsonObject>
  /** False for a minute after a GET that may still be undone: claims put such mail off. */
  unsubscribed: boolean
  suppressed: boolean
}

/**
 * The state from which the segment decides at `now`, after the wait at the node `waitedAt` ('' if there was none). A separate
 * statement after the lock, because only then is its snapshot current. `offset 0` keeps the looks at suppressions from a hash of all of them, which
 * a plan made while they are few would make at each call.
 */
export async function findSegmentState<Result = unknown>(
  trx: Trx,
  workspaceId: WorkspaceId,
  at: { executionId: string; segment: number; waitedAt: string; hmac: Buffer; now: Date },
): Promise<SegmentState<Result>> {
  const executionId = unseen(sql`${at.executionId}::text`)
  const [hmac, now] = [unseen(sql`${at.hmac}::bytea`), unseen(sql`${at.now}::timestamptz`)]
  const { rows } = await sql<SegmentState<Result>>`
    with recursive
    found as (select * from executions where workspace_id = ${workspaceId} and id = ${executionId}),
    received (node_id) as (${receivedNodes(executionId)})
    select e.ended_status, e.error, e.cancellation_reason,
      (select result from execution_segments s where s.execution_id = e.id and s.segment = ${unseen(sql`${at.segment}::int`)}) as result,
      last.consumed_by, last.ended_by, last.leads_to,
      (extract(epoch from last.deadline) * 1000)::float8 as wait_until,
      (extract(epoch from last.created_at) * 1000)::float8 as waited_since, coalesce(last.goals_reached, '{}') as goals_reached,
      e.created_at as entered_at, e.chain_depth,
      coalesce((${isPaused(sql`e.workflow_id`)}), false) as is_paused,
      coalesce(last.ended_by is null and (${cancelsHeld(sql`last.held_workflow_id`)}), false) as awaits_cancel,
      (select properties from automation_events where id = e.trigger_event_id and contact_id = e.contact_id) as trigger_properties,
      ${receivedEvents(sql`e.id`)} as wait_events,
      exists (select from opt_outs o
        where o.workspace_id = e.workspace_id and o.address_hmac = ${hmac}
          and ${isAboutWorkflow(sql`e.workflow_id`)} and ${standsFrom} <= ${now}) as unsubscribed,
      exists (select from suppressions x
        where x.workspace_id = e.workspace_id and x.email = e.email
          and (x.expires_at is null or x.expires_at > ${now}) offset 0)
        or ${isErasedSuppressed(sql`e.workspace_id`, hmac, now)} as suppressed
    from found e left join lateral (
      select w.consumed_by, w.ended_by, w.leads_to, w.goals_reached, w.deadline, w.created_at, w.held_workflow_id from event_waits w
      where w.execution_id = e.id and w.segment = ${unseen(sql`${at.segment - 1}::int`)} and w.node_id = ${unseen(sql`${at.waitedAt}::text`)}
    ) last on true
  `.execute(trx)
  const [state] = rows
  if (!state) throw new Error(`execution ${at.executionId} has no row`)
  return state
}
