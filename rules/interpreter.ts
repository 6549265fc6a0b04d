// Walks a design from one wait to the next: pure, so that the same facts always give the same steps.
import { evaluate, explain } from './conditions/evaluate.ts'
import { resolveMatch } from './conditions/waitFilter.ts'
import { edgeHandle } from './design/shape.ts'
import type { Design, Node, NodeOf, SendEmailData } from './design/types.ts'
import { addDuration, parseDuration } from './duration.ts'
import type {
  Next,
  SegmentFacts,
  SegmentOutcome,
  SegmentStart,
  SegmentTools,
  Step,
} from './interpreterTypes.ts'
import { limits } from './limits.ts'
import { applyUpdate } from './properties/update.ts'
import { fnv1a } from './shard.ts'

/** The `why` of a skipped send whose recipient is suppressed: `on_suppressed` decides what follows. */
export const suppressedWhy = 'suppressed'

/** What one node did: it takes a handle, or the segment ends here in a wait or for good. */
type Move = { why: string | null; facts?: SegmentFacts } & (
  | { handle: string; next?: never }
  | { next: Next; handle?: never }
)

/**
 * Runs one segment: from `start`, node after node, until the next wait or the end. `facts.execution.step_count` is the
 * count before the segment; conditions see the running one, and the properties that earlier nodes have changed.
 * A handle that leads nowhere ends the execution COMPLETED. Never throws for a design that validateDesign accepts.
 */
export function runSegment(
  design: Design,
  start: SegmentStart,
  facts: SegmentFacts,
  tools: SegmentTools,
): SegmentOutcome {
  const nodes = new Map(design.nodes.map((node) => [node.id, node]))
  const targets = new Map(
    design.edges.map((edge) => [`${edge.source} ${edgeHandle(edge.sourceHandle)}`, edge.target]),
  )
  const steps: Step[] = []
  let running = facts
  const outcome = (next: Next): SegmentOutcome => ({
    steps,
    properties: running.contact.properties,
    next,
  })

  let id: string | undefined =
    start.kind === 'trigger' ? start.nodeId : targets.get(`${start.nodeId} ${start.handle}`)
  while (id !== undefined) {
    const node = nodes.get(id)
    if (!node) return outcome(failed(`the design has no node ${id}`))
    if (steps.length >= limits.stepsPerSegmentMax) {
      return outcome(failed(`more than ${limits.stepsPerSegmentMax} nodes without a wait`))
    }
    const step_count = running.execution.step_count + 1
    running = { ...running, execution: { step_count } }
    const isWired = (handle: string): boolean => targets.has(`${node.id} ${handle}`)
    const move = enter(node, { design, facts: running, tools, isWired })
    running = move.facts ?? running
    steps.push({ nodeId: node.id, type: node.type, handle: move.handle ?? null, why: move.why })
    if (move.next) return outcome(move.next)
    id = targets.get(`${node.id} ${move.handle}`)
  }
  return outcome(completed())
}

function completed(outcome = 'completed'): Next {
  return { kind: 'end', status: 'COMPLETED', outcome, error: null }
}

function failed(error: string): Next {
  return { kind: 'end', status: 'FAILED', outcome: null, error }
}

interface Room {
  design: Design
  /** Of this moment: updates and steps so far are in it. */
  facts: SegmentFacts
  tools: SegmentTools
  isWired(handle: string): boolean
}

function enter(node: Node, room: Room): Move {
  switch (node.type) {
    case 'trigger':
      return {
        handle: 'default',
        why: node.data.kind === 'event' ? node.data.event_name : 'manual',
      }
    case 'send_email':
      return enterSendEmail(node, room)
    case 'delay':
      return enterDelay(node, room)
    case 'wait_for_event':
      return enterWaitForEvent(node, room)
    case 'condition': {
      const holds = evaluate(node.data.condition, room.facts)
      return { handle: String(holds), why: explain(node.data.condition, holds) }
    }
    case 'branch': {
      const branch = node.data.branches.find(({ condition }) => evaluate(condition, room.facts))
      return branch
        ? { handle: branch.id, why: branch.label || branch.id }
        : { handle: 'else', why: 'no branch matched' }
    }
    case 'update_contact':
      return enterUpdateContact(node, room)
    case 'exit':
      return { next: completed(node.data.outcome || undefined), why: null }
    default:
      return { next: failed(`a ${(node as Node).type} node cannot run`), why: null }
  }
}

function enterSendEmail(node: NodeOf<'send_email'>, room: Room): Move {
  const { guard } = node.data
  if (guard && !evaluate(guard, room.facts)) return skip('guard', room)
  const sent = room.tools.sendEmail(node.id, withoutBlanks(node.data), room.facts)
  if (sent.kind === 'failed') return failStep(node, sent.why, room)
  if (sent.kind === 'skipped') {
    if (sent.why !== suppressedWhy) return skip(sent.why, room)
    const { on_suppressed } = node.data
    if (on_suppressed === 'exit') return { next: completed(suppressedWhy), why: suppressedWhy }
    return on_suppressed === 'fail' ? failStep(node, sent.why, room) : skip(sent.why, room)
  }
  const { emailActivity } = room.facts
  const statuses = Object.hasOwn(emailActivity, node.id) ? (emailActivity[node.id] ?? []) : []
  const facts = {
    ...room.facts,
    emailActivity: { ...emailActivity, [node.id]: [...statuses, 'sent'] },
  }
  return { handle: 'default', why: null, facts }
}

/** An empty text counts as missing, as validation counted it: then the template's or the default stands. */
function withoutBlanks(data: SendEmailData): SendEmailData {
  const given = Object.entries(data).filter(([, value]) => value !== '' && value !== null)
  return Object.fromEntries(given)
}

function skip(why: string, room: Room): Move {
  return { handle: room.isWired('skipped') ? 'skipped' : 'default', why }
}

/** A step that failed: its own handle first, then what the settings say. */
function failStep(node: Node, why: string, room: Room): Move {
  if (room.isWired('failed')) return { handle: 'failed', why }
  if (room.design.settings?.on_step_failure === 'continue') return { handle: 'default', why }
  return { next: failed(`${node.id}: ${why}`), why }
}

function enterDelay(node: NodeOf<'delay'>, { facts }: Room): Move {
  const { data } = node
  const duration =
    'duration' in data && data.duration
      ? parseDuration(data.duration)
      : { kind: 'exact' as const, ms: 'ms' in data ? data.ms : Number.NaN }
  if (!duration || Number.isNaN(duration.ms)) {
    return { next: failed(`${node.id}: bad duration`), why: null }
  }
  const until = addDuration(facts.now, duration) + jitter(node, facts)
  // Nothing to wait for: no timer, and no segment of its own.
  if (until <= facts.now) return { handle: 'default', why: 'no time to wait' }
  return { next: { kind: 'sleep', nodeId: node.id, until }, why: null }
}

/** 0 to jitter_ms, drawn from the step's own name: the same at every replay, another for each execution and lap. */
function jitter(node: NodeOf<'delay'>, facts: SegmentFacts): number {
  const max_ms = node.data.jitter_ms
  if (!max_ms) return 0
  return fnv1a(`${facts.executionId}:${node.id}:${facts.execution.step_count}`) % (max_ms + 1)
}

function enterWaitForEvent(node: NodeOf<'wait_for_event'>, { facts }: Room): Move {
  const { event_name, timeout, lookback_ms } = node.data
  const duration = timeout ? parseDuration(timeout) : null
  if (timeout && !duration) return { next: failed(`${node.id}: bad timeout`), why: null }
  const next: Next = {
    kind: 'wait_event',
    nodeId: node.id,
    eventName: event_name,
    filter: resolveMatch(node.data, facts),
    deadline: duration ? addDuration(facts.now, duration) : null,
    lookbackMs: lookback_ms || 0,
  }
  return { next, why: null }
}

function enterUpdateContact(node: NodeOf<'update_contact'>, { facts }: Room): Move {
  const { properties, notes } = applyUpdate(node.data, facts)
  return {
    handle: 'default',
    why: notes.length > 0 ? notes.join('; ').slice(0, 200) : null,
    facts: { ...facts, contact: { ...facts.contact, properties } },
  }
}
