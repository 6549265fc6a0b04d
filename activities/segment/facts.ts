// Loads what the conditions of a segment can read: always the contact and the event, anything else only if the
// design uses it.
import type { Trx } from '../../db/connect.ts'
import { listEmailActivity, listEventTimes, listMemberships } from '../../db/executions/facts.ts'
import type { SegmentRow, SegmentState } from '../../db/executions/segments.ts'
import type { Row } from '../../db/schema.ts'
import { designNeeds } from '../../rules/design/needs.ts'
import type { Design } from '../../rules/design/types.ts'
import type { SegmentFacts } from '../../rules/interpreterTypes.ts'
import type { SegmentResult } from '../../workflows/messages.ts'

/** Reads in the segment's transaction, under the contact's lock. `from.now` is the time of the segment. */
export async function loadFacts(
  trx: Trx,
  from: {
    execution: SegmentRow
    design: Design
    contact: Row<'contacts'>
    state: SegmentState
    now: Date
    previous: SegmentResult | null
  },
): Promise<SegmentFacts> {
  const { execution, design, contact, state, now, previous } = from
  const needs = designNeeds(design)
  const event = state.trigger_properties ?? execution.properties ?? {}
  return {
    executionId: execution.id,
    workflowId: execution.workflow_id,
    depth: depthNow(state, previous),
    enteredAt: state.entered_at.getTime(),
    goalsReached: state.goals_reached,
    now: now.getTime(),
    contact: {
      email: contact.email,
      first_seen: contact.first_seen.getTime(),
      properties: contact.properties,
    },
    event,
    trigger: event,
    waitEvents: state.wait_events,
    execution: { step_count: previous?.step_count ?? 0 },
    eventTimes: needs.eventNames.length
      ? await listEventTimes(trx, execution.workspace_id, contact.id, needs.eventNames)
      : {},
    emailActivity: needs.emailActivity
      ? await listEmailActivity(trx, execution.workspace_id, execution.id)
      : {},
    audiences: needs.audienceIds.length
      ? await listMemberships(trx, contact.workspace_id, contact.email, needs.audienceIds)
      : [],
  }
}

/** What time alone has woken begins a new chain; what an event or another change has woken carries on that one's. */
function depthNow(
  { chain_depth, consumed_by, ended_by }: SegmentState,
  previous: SegmentResult | null,
): number {
  const byTime = previous !== null && consumed_by === null && ended_by === null
  return byTime ? 0 : chain_depth
}
