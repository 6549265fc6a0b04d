// Loads what the conditions of a segment can read: always the contact and the event, anything else only if the
// design uses it.
import type { Trx } from '../../db/connect.ts'
import { listAnswers } from '../../db/executions/calls.ts'
import {
  listArrivedNames,
  listEmailActivity,
  listEventTimes,
  listMarketingTimes,
  listMemberships,
} from '../../db/executions/facts.ts'
import type { SegmentState } from '../../db/executions/segmentState.ts'
import type { SegmentRow } from '../../db/executions/segments.ts'
import type { Row } from '../../db/schema.ts'
import { findSegmentConditions } from '../../db/segments/reads.ts'
import { withSegments } from '../../rules/conditions/needs.ts'
import { designNeeds } from '../../rules/design/needs.ts'
import type { Design } from '../../rules/design/types.ts'
import type { SegmentFacts } from '../../rules/interpreterTypes.ts'
import { goalEventNames } from '../../rules/interrupts.ts'
import type { JsonObject } from '../../rules/json.ts'
import { nodeRegistry } from '../../rules/nodes/index.ts'
import type { SegmentResult } from '../../workflows/messages.ts'
import { isLookedAtSooner, isRowOpen } from './wokenBy.ts'

interface From {
  execution: SegmentRow
  design: Design
  contact: Row<'contacts'>
  state: SegmentState
  /** The time of the segment. */
  now: Date
  previous: SegmentResult | null
  /** Where the segment before ended in a call, what that carries on. */
  called: { goalsReached: string[] } | null
  /** HMAC of the contact's address. */
  hmac: Buffer
  read: Conditions
}

type Conditions = Awaited<ReturnType<typeof findConditions>>

/** Segments that the conditions of the design name, and which facts all of them read. */
export async function findConditions(trx: Trx, { workspace_id }: SegmentRow, design: Design) {
  const ofDesign = designNeeds(design)
  const segments = await findSegmentConditions(trx, workspace_id, ofDesign.segmentIds)
  return { segments, facts: withSegments(ofDesign, segments) }
}

/** Reads in the segment's transaction, under the contact's lock. */
export async function loadFacts(trx: Trx, from: From): Promise<SegmentFacts> {
  const { execution, design, contact, state, now, previous, called, hmac } = from
  const { segments, facts: needs } = from.read
  const { frequency_cap: cap } = design.settings ?? {}
  const moment = timeOf(now, state, previous)
  const names = goalEventNames(design)
  const since = state.entered_at
  const arrived = { contactId: contact.id, names, since, executionId: execution.id }
  const event = state.trigger_properties ?? execution.properties ?? {}
  return {
    executionId: execution.id,
    workflowId: execution.workflow_id,
    isPaused: state.is_paused,
    depth: depthNow(state, previous),
    enteredAt: state.entered_at.getTime(),
    goalsReached: called ? called.goalsReached : state.goals_reached,
    arrived: names.length > 0 ? await listArrivedNames(trx, execution.workspace_id, arrived) : [],
    now: moment,
    contact: {
      email: contact.email,
      first_seen: contact.first_seen.getTime(),
      properties: contact.properties,
    },
    event,
    trigger: event,
    waitEvents: state.wait_events,
    steps: keepsAnswers(design)
      ? ((await listAnswers(trx, execution.workspace_id, [execution.id])).get(execution.id) ?? {})
      : {},
    execution: { step_count: previous?.step_count ?? 0 },
    eventTimes: needs.eventNames.length
      ? ((await listEventTimes(trx, execution.workspace_id, [contact.id], needs.eventNames)).get(
          contact.id,
        ) ?? {})
      : {},
    emailActivity: needs.emailActivity
      ? ((await listEmailActivity(trx, execution.workspace_id, [execution.id])).get(execution.id) ??
        {})
      : {},
    audiences: needs.audienceIds.length
      ? ((await listMemberships(trx, contact.workspace_id, [contact.email], needs.audienceIds)).get(
          contact.email,
        ) ?? [])
      : [],
    segments,
    marketingSent: cap
      ? await listMarketingTimes(trx, contact.workspace_id, {
          hmac,
          since: new Date(moment - cap.per_ms),
          limit: cap.count,
        })
      : [],
  }
}

/** Whether a node of the design may have kept what others read as `steps.*`. */
const keepsAnswers = ({ nodes }: Design): boolean =>
  nodes.some(({ type, data }) => nodeRegistry.find(type)?.stores?.(data as JsonObject) != null)

/** A timer may fire before this process's clock has come so far: then it is as late as the timer says. */
function timeOf(now: Date, state: SegmentState, previous: SegmentResult | null): number {
  const isTime = isRowOpen(state, previous) && !isLookedAtSooner(state, previous)
  const ended = isTime ? previous?.next : undefined
  const until = ended && ended.kind !== 'end' && ended.kind !== 'call' ? ended.until : null
  return Math.max(now.getTime(), until ?? 0)
}

/** What time alone has woken, or a release, begins a new chain; what an event or another change has woken carries on that one's. */
function depthNow(state: SegmentState, previous: SegmentResult | null): number {
  const isReleased = state.ended_by === 'release'
  return isReleased || isRowOpen(state, previous) ? 0 : state.chain_depth
}
