// Runs the interpreter over a segment and turns its decisions into rows. A wait whose event has already happened
// ends at once.

import { findRecentEvent } from '../../commands/events/findRecent.ts'
import type { Trx } from '../../db/connect.ts'
import type {
  NewStep,
  SegmentRow,
  SegmentState,
  SegmentWrites,
} from '../../db/executions/segments.ts'
import type { JsonObject } from '../../db/schema.ts'
import type { Design } from '../../rules/design/types.ts'
import { handleAfterWait, UnknownKind, walkSegment } from '../../rules/interpreter.ts'
import type {
  Next,
  SegmentFacts,
  SegmentStart,
  SegmentTools,
} from '../../rules/interpreterTypes.ts'
import type { SegmentInput, SegmentResult } from '../../workflows/messages.ts'
import { withClosedError } from './failures.ts'

export interface Walk {
  result: SegmentResult
  writes: Omit<SegmentWrites, 'now'>
  /** The contact's properties afterwards; the same object when nothing changed. */
  properties: JsonObject
}

/** Runs synchronous work of the segment under a mark that names the node, and each that is entered. */
export type Marked = <T>(step: string, work: (entering: (step: string) => void) => T) => T

interface WalkFrom {
  input: SegmentInput
  execution: SegmentRow
  design: Design
  state: SegmentState
  facts: SegmentFacts
  previous: SegmentResult | null
  mail: SegmentTools
  /** Records the contact's mail events of that name that are still in the outbox. */
  hear: (eventName: string) => Promise<void>
  marked: Marked
}

/**
 * Walks from the trigger, or from the wait that has ended, to the next wait or the end.
 * @returns the result for the workflow function, and the rows to write
 */
export async function walk(trx: Trx, from: WalkFrom): Promise<Walk> {
  const { input, execution, previous } = from
  const before = previous?.step_count ?? 0
  const start = startOf(from)
  const { steps, waits, next, facts } = await walkOn(trx, from, start, before)

  const stepCount = before + steps.length
  const step = steps.at(-1)?.node_id ?? previous?.step ?? ''
  const result = withClosedError({ next: toResult(next), step, step_count: stepCount })
  return {
    result,
    properties: facts.contact.properties,
    writes: {
      executionId: execution.id,
      segment: input.segment,
      result,
      steps,
      left: start.kind === 'resume' ? { seq: before, handle: start.handle } : null,
      waits,
      end:
        next.kind === 'end'
          ? {
              status: next.status,
              stepId: step,
              stepCount,
              outcome: next.outcome,
              error: next.error,
            }
          : null,
    },
  }
}

/** Walks to the first wait whose event has not happened yet, or to the end. */
async function walkOn(trx: Trx, from: WalkFrom, start: SegmentStart, before: number) {
  const { execution, design, mail, marked } = from
  const steps: NewStep[] = []
  const waits: SegmentWrites['waits'] = []

  const walkFrom = (at: SegmentStart, facts: SegmentFacts) =>
    marked(at.nodeId, (entering) => walkSegment(design, at, facts, { ...mail, entering }))
  let outcome = walkFrom(start, from.facts)
  for (;;) {
    for (const step of outcome.steps) {
      const { nodeId, type, handle, why } = step
      steps.push({ seq: before + steps.length + 1, node_id: nodeId, type, handle, why })
    }
    const { next, facts } = outcome
    if (next.kind === 'end' || next.for !== 'event') return { steps, waits, next, facts }
    // Mail events from before the wait are recorded first: they end this wait only if it has a look-back.
    await from.hear(next.eventName)
    const came = await findRecentEvent(trx, execution, next, facts, (work) =>
      marked(next.nodeId, work),
    )
    waits.push({
      node_id: next.nodeId,
      workspace_id: execution.workspace_id,
      contact_id: execution.contact_id,
      event_name: next.eventName,
      filter: next.filter,
      deadline: next.until === null ? null : new Date(next.until),
      consumed_by: came?.id ?? null,
    })
    if (!came) return { steps, waits, next, facts }
    const handle = handleAfterWait(design, next.nodeId, 'event')
    const waited = steps.at(-1)
    if (waited) Object.assign(waited, { handle, why: 'came before the wait' })
    outcome = walkFrom(
      { kind: 'resume', nodeId: next.nodeId, handle },
      { ...facts, waitEvents: { ...facts.waitEvents, [next.nodeId]: came.properties } },
    )
  }
}

/** The name of the event that a node waits for; null if the node does not wait for an event. */
export function awaitedEventName({ nodes }: Design, nodeId: string): string | null {
  const data = nodes.find(({ id }) => id === nodeId)?.data ?? {}
  return 'event_name' in data && typeof data.event_name === 'string' ? data.event_name : null
}

/**
 * Where the segment begins. Whether an event or the timeout ended the wait is decided by the row of the wait, not
 * by the timer.
 */
function startOf({ execution, design, state, previous }: WalkFrom): SegmentStart {
  if (!previous || previous.next.kind === 'end') {
    return { kind: 'trigger', nodeId: execution.trigger_node_id }
  }
  const { nodeId, kind } = previous.next
  const isByEvent = kind === 'wait_event' && state.consumed_by !== null
  const handle = handleAfterWait(design, nodeId, isByEvent ? 'event' : 'timer')
  return { kind: 'resume', nodeId, handle }
}

/** The end of a segment in the form that stored rows and recorded Temporal histories have. It cannot change. */
function toResult(next: Next): SegmentResult['next'] {
  if (next.kind === 'end') return { kind: 'end', status: next.status, error: next.error }
  switch (next.for) {
    case 'nothing':
    case 'window':
      return { kind: 'sleep', nodeId: next.nodeId, until: next.until }
    case 'event':
      return { kind: 'wait_event', nodeId: next.nodeId, until: next.until }
    case 'condition':
      // This release never wakes such a wait.
      throw new UnknownKind('wait for a condition')
    default:
      return next satisfies never
  }
}
