// Runs the interpreter over a segment and turns its decisions into rows. A wait whose event has already happened
// ends at once.

import { findRecentEvent } from '../../commands/events/findRecent.ts'
import type { ToldOfMail } from '../../commands/events/tellContacts.ts'
import type { Trx } from '../../db/connect.ts'
import type { NewStep, SegmentWrites } from '../../db/executions/segments.ts'
import type { Design } from '../../rules/design/types.ts'
import { handleAfterWait, walkSegment } from '../../rules/interpreter.ts'
import type {
  Effect,
  EffectResult,
  EventWait,
  HttpCall,
  Next,
  SegmentFacts,
  SegmentStart,
  SegmentTools,
} from '../../rules/interpreterTypes.ts'
import { isInterrupted } from '../../rules/interrupts.ts'
import type { SegmentInput, SegmentResult } from '../../workflows/messages.ts'
import { hostKeyOf } from '../hostKey.ts'
import { withClosedError } from './failures.ts'
import { type StartFrom, startOf } from './startOf.ts'

export interface Walk {
  result: SegmentResult
  writes: Omit<SegmentWrites, 'now'>
  /** After the last node. */
  facts: SegmentFacts
  /** The request in which it ended; null: in none. */
  call: { nodeId: string; call: HttpCall } | null
}

/** Runs synchronous work of the segment under a mark that names the node, and each that is entered. */
export type Marked = <T>(step: string, work: (entering: (step: string) => void) => T) => T

interface WalkFrom extends StartFrom {
  input: SegmentInput
  mail: SegmentTools
  /** Records the contact's mail events of these names that are still in the outbox. */
  recordEvents: (eventNames: readonly string[], byExecution: string) => Promise<ToldOfMail>
  /** Carries out an effect of a node, in the segment's transaction. */
  perform: (effect: Effect, facts: SegmentFacts) => Promise<EffectResult>
  marked: Marked
}

/**
 * Walks from the trigger, or from the wait that has ended, to the next wait or the end.
 * @returns the result for the workflow function, and the rows to write
 */
export async function walk(trx: Trx, from: WalkFrom): Promise<Walk> {
  const { input, execution, previous } = from
  const { steps, before, isReleased, left, waits, next, facts } = await walkOn(trx, from)
  const stepCount = before + steps.length
  const step = steps.at(-1)?.node_id ?? previous?.step ?? ''
  const result = withClosedError({ next: toResult(next, from), step, step_count: stepCount })
  return {
    result,
    facts,
    call: next.kind === 'call' ? next : null,
    writes: {
      executionId: execution.id,
      segment: input.segment,
      result,
      steps,
      isReleased,
      left: left && { seq: before, ...left },
      waits,
      depth: facts.depth,
      end:
        next.kind === 'end'
          ? {
              status: next.status,
              stepId: step,
              stepCount,
              outcome: next.outcome,
              error: next.error,
              reason: next.reason?.text ?? null,
              code: next.reason?.code ?? null,
            }
          : null,
    },
  }
}

/** A wait that began, a call to make, or the end. */
type Reached = Exclude<Next, { kind: 'effect' }>

/** Walks to the first wait whose event has not happened yet, or to the end; carries out effects on the way. */
async function walkOn(trx: Trx, from: WalkFrom) {
  const { design, mail, marked, perform, previous } = from
  const start = startOf(from)
  const steps: NewStep[] = []
  const waits: SegmentWrites['waits'] = []
  const visited = new Set<string>()

  const walkFrom = (at: SegmentStart, facts: SegmentFacts) =>
    marked(at.nodeId, (entering) => walkSegment(design, at, facts, { ...mail, visited, entering }))
  let outcome = walkFrom(start, from.facts)
  const { left } = outcome
  // The node before which the execution was held is a step already: what becomes of it there takes its place.
  const isReleased = start.kind === 'released' && left === null
  const before = (previous?.step_count ?? 0) - (isReleased ? 1 : 0)
  const reached = (next: Reached, facts: SegmentFacts) => {
    return { steps, before, isReleased, left, waits, next, facts }
  }
  for (;;) {
    for (const step of outcome.steps) {
      const { nodeId, type, handle, why } = step
      steps.push({ seq: before + steps.length + 1, node_id: nodeId, type, handle, why })
    }
    const { next, facts } = outcome
    if (next.kind === 'effect') {
      const { nodeId } = next
      const result = await perform(next.effect, facts)
      outcome = walkFrom({ kind: 'effect', nodeId, result }, facts)
      continue
    }
    if (next.kind !== 'wait') return reached(next, facts)
    const isNew = start.kind !== 'again' || next.nodeId !== start.nodeId
    const taken = waits.flatMap(({ consumed_by }) => consumed_by ?? [])
    const came =
      next.for === 'event' && isNew ? await look(trx, from, next, facts, taken) : undefined
    waits.push(toWait(from, next, facts, came?.id ?? null))
    if (!came) return reached(next, facts)
    const handle = handleAfterWait(design, next.nodeId, 'event')
    const waited = steps.at(-1)
    if (waited) Object.assign(waited, { handle, why: 'came before the wait' })
    outcome = walkFrom(
      { kind: 'resume', nodeId: next.nodeId, handle },
      { ...facts, waitEvents: { ...facts.waitEvents, [next.nodeId]: came.properties } },
    )
  }
}

/** A segment must not decide yet: many mail events of that name stand in the outbox, and are recorded before it runs again. */
export class MailEventsLeft extends Error {
  readonly eventName: string
  constructor(eventName: string) {
    super('the mail events before a wait were too many for one commit')
    this.eventName = eventName
  }
}

/** The event from before a wait that ends it at once. @param taken events that ended waits of this segment */
async function look(
  trx: Trx,
  { execution, recordEvents, marked }: WalkFrom,
  wait: EventWait & { nodeId: string },
  facts: SegmentFacts,
  taken: readonly string[],
) {
  // Mail events from before the wait are recorded first: they end this wait only if it has a look-back.
  const told = await recordEvents([wait.eventName], execution.id)
  if (told === 'some') throw new MailEventsLeft(wait.eventName)
  const of = { ...execution, taken }
  return findRecentEvent(trx, of, wait, facts, (work) => marked(wait.nodeId, work))
}

/** The row of a wait. @param cameId the event that has ended it already */
function toWait(
  { execution, design }: WalkFrom,
  wait: Extract<Next, { kind: 'wait' }>,
  { goalsReached }: SegmentFacts,
  cameId: string | null,
): SegmentWrites['waits'][number] {
  const { nodeId, until } = wait
  const condition = wait.for === 'condition' ? wait.condition : null
  const path = (wait.for === 'nothing' && wait.path) || null
  return {
    node_id: nodeId,
    workspace_id: execution.workspace_id,
    contact_id: execution.contact_id,
    event_name: wait.for === 'event' ? wait.eventName : null,
    filter: wait.for === 'event' ? wait.filter : null,
    deadline: until === null ? null : new Date(until),
    consumed_by: cameId,
    condition,
    path,
    held_workflow_id: wait.for === 'hold' ? execution.workflow_id : null,
    watched: condition !== null || path !== null || isInterrupted(design),
    goals_reached: [...goalsReached],
  }
}

/** The name of the event that a node waits for; null if the node does not wait for an event. */
export function awaitedEventName({ nodes }: Design, nodeId: string): string | null {
  const data = nodes.find(({ id }) => id === nodeId)?.data ?? {}
  return 'event_name' in data && typeof data.event_name === 'string' ? data.event_name : null
}

/** The end of a segment in the form that stored rows and recorded Temporal histories have. It cannot change. */
function toResult(
  next: Exclude<Next, { kind: 'effect' }>,
  { design, execution }: Pick<WalkFrom, 'design' | 'execution'>,
): SegmentResult['next'] {
  if (next.kind === 'end') return { kind: 'end', status: next.status, error: next.error }
  if (next.kind === 'call') {
    const { workspace_id: workspaceId } = execution
    return { kind: 'call', nodeId: next.nodeId, workspaceId, hostKey: hostKeyOf(next.call.url) }
  }
  const { nodeId, until, since } = next
  if (next.for === 'hold') {
    const again = next.again ? ({ again: true } as const) : {}
    return { kind: 'wait', nodeId, until, since, ...again, held: true }
  }
  if (next.again) return { kind: 'wait', nodeId, until, since, again: true }
  // A change may let it be looked at sooner.
  if (isInterrupted(design)) return { kind: 'wait', nodeId, until, since }
  if (next.for === 'event') return { kind: 'wait_event', nodeId, until }
  if (next.for === 'condition' || next.path !== undefined || until === null) {
    return { kind: 'wait', nodeId, until, since }
  }
  return { kind: 'sleep', nodeId, until }
}
