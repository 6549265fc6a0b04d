// The interpreter: walks a design from one wait to the next. Pure, so the same facts always give the same steps.
// Long because one walk is one state that all of its moves share.
import type { Settings } from './design/settings.ts'
import type { Graph } from './design/types.ts'
import { type Drawn, drawnOf } from './drawn.ts'
import { LoopWithoutTime, UnknownKind } from './interpreterErrors.ts'
import type {
  EffectResult,
  End,
  Interruption,
  Next,
  SegmentFacts,
  SegmentOutcome,
  SegmentStart,
  SegmentTools,
  Step,
  Wait,
  WaitEnd,
} from './interpreterTypes.ts'
import { interruption, nextInterruption } from './interrupts.ts'
import { toStorableText } from './jsonFault.ts'
import type { Move, NodeKind, Place } from './nodes/define.ts'
import { nodeRegistry } from './nodes/index.ts'
import { completed, failed, failStep } from './nodes/moves.ts'
import type { NodeRegistry } from './nodes/registry.ts'

type Node = Graph['nodes'][number]

/** Why a step is none yet: its workflow is paused. */
const HELD = 'held'

/** The state of one walk. */
interface Walk {
  readonly drawn: Drawn
  readonly settings: Settings
  readonly tools: SegmentTools
  readonly visited: Set<string>
  readonly registry: NodeRegistry
  readonly steps: Step[]
  left: SegmentOutcome['left']
  facts: SegmentFacts
}

/** The node that is entered next; undefined where no edge leads on. */
interface Here {
  kind: 'here'
  id: string | undefined
  /** When its wait began, ms, where the execution waits there and the node is asked again. */
  since?: number
  cameBy?: string
  /** When the execution was held before the node, ms. */
  heldSince?: number
  /** It was held before the node, which is a step already. */
  isReleased?: true
}

/**
 * Runs one segment: from `start`, node after node, until the next wait, effect or the end. `facts.execution.step_count` is
 * the count before the walk; conditions see the current count, and the properties as earlier nodes have changed
 * them. A handle without an edge ends the execution COMPLETED. What may interrupt the execution is looked at when it enters,
 * before each send, and when a wait begins or is asked again. Where a paused workflow holds its executions, the walk stops
 * before its next node, which is noted as a step with the reason `held`; the goal that it jumps to is entered all the same.
 * @throws UnknownKind; LoopWithoutTime when a segment enters a node twice
 */
export function walkSegment(
  design: Graph,
  start: SegmentStart,
  facts: SegmentFacts,
  tools: SegmentTools,
  registry: NodeRegistry = nodeRegistry,
): SegmentOutcome {
  const walk: Walk = {
    drawn: drawnOf(design),
    settings: design.settings ?? {},
    tools,
    visited: tools.visited ?? new Set(),
    registry,
    steps: [],
    left: null,
    facts: { ...facts },
  }
  let at = begin(walk, start)
  while (at.kind === 'here') at = step(walk, at)
  return { steps: walk.steps, left: walk.left, facts: walk.facts, next: at }
}

function begin(walk: Walk, start: SegmentStart): Here | Next {
  switch (start.kind) {
    case 'trigger':
      return { kind: 'here', id: start.nodeId }
    case 'resume':
      walk.left = { handle: start.handle, why: null }
      return leadsTo(walk, start.nodeId, start.handle)
    case 'again':
      return { kind: 'here', id: start.nodeId, since: start.since }
    case 'held':
      return { kind: 'here', id: start.nodeId, heldSince: start.since }
    case 'released': {
      const { execution } = walk.facts
      walk.facts = { ...walk.facts, execution: { step_count: execution.step_count - 1 } }
      return { kind: 'here', id: start.nodeId, isReleased: true }
    }
    case 'interrupted':
      walk.left = { handle: null, why: whyOf(start.by) }
      return follow(start.by)
    case 'effect': {
      const place = placeOf(walk, start.nodeId, walk.facts.now)
      return leave(walk, start.nodeId, afterEffect(start.result, place))
    }
    case 'called': {
      const { handle, why } = start.result
      // What has come meanwhile interrupts it now, and not while it was under way.
      const found = interruption(walk.drawn.interrupts, walk.facts)
      walk.left = found ? { handle: null, why: whyOf(found) } : { handle, why: toWhy(why) }
      return found ? follow(found) : leadsTo(walk, start.nodeId, handle)
    }
    default:
      return start satisfies never
  }
}

/** Enters one node. @returns the next one, or how the walk ends */
function step(walk: Walk, { id, since, cameBy, heldSince, isReleased }: Here): Here | Next {
  if (id === undefined) return completed()
  const node = walk.drawn.nodes.get(id)
  if (!node) return failed(`the design has no node ${id}`)
  const isJump = cameBy !== undefined
  if (isHeld(walk) && !isJump) {
    if (since === undefined) return hold(walk, node, heldSince)
    // A mail that was put off goes no more than another; its node is a step already.
    if (kindOf(node, walk.registry).records === 'email_activity') {
      walk.left = { handle: null, why: HELD }
      return hold(walk, node, since)
    }
  }
  if (walk.visited.has(id)) throw new LoopWithoutTime(id)
  walk.visited.add(id)
  const kind = kindOf(node, walk.registry)
  const isAgain = since !== undefined
  if (isAgain || kind.records === 'email_activity') {
    const found = interruption(walk.drawn.interrupts, walk.facts)
    if (found && (isAgain || isReleased)) walk.left = { handle: null, why: whyOf(found) }
    // The step at which it was held stays.
    if (found && isReleased) countStep(walk)
    if (found) return jump(walk, id, found)
  }
  if (!isAgain) countStep(walk)
  walk.tools.entering?.(id)
  const move = kind.enter(node.data, placeOf(walk, id, since ?? walk.facts.now, cameBy))
  if (kind.role === 'goal') walk.facts = withGoal(walk.facts, id)
  if (!isAgain) return leave(walk, id, move)
  if (!move.wait) walk.left = { handle: move.handle ?? null, why: toWhy(move.why) }
  return goOn(walk, id, move, since)
}

/** In the walk's own copy of the facts, since one copy for each node takes as long as the node. */
function countStep({ facts }: Walk): void {
  facts.execution = { step_count: facts.execution.step_count + 1 }
}

const isHeld = ({ settings, facts }: Walk): boolean =>
  facts.isPaused === true && settings.on_pause === 'hold'

/** Stops before a node, or stays there, unless something interrupts the execution. */
function hold(walk: Walk, { id, type }: Node, heldSince?: number): Here | Next {
  const found = interruption(walk.drawn.interrupts, walk.facts)
  if (found && heldSince !== undefined) walk.left = { handle: null, why: whyOf(found) }
  if (found) return follow(found)
  if (heldSince === undefined) {
    countStep(walk)
    walk.steps.push({ nodeId: id, type, handle: null, why: HELD })
  }
  const wait = untilInterrupted({ for: 'hold', until: null }, walk)
  return { kind: 'wait', nodeId: id, since: heldSince ?? walk.facts.now, ...wait }
}

/** Notes a node as a step, and goes on as it said. */
function leave(walk: Walk, nodeId: string, move: Move): Here | Next {
  if (move.effect) return { kind: 'effect', nodeId, effect: move.effect }
  const type = walk.drawn.nodes.get(nodeId)?.type ?? ''
  walk.steps.push({ nodeId, type, handle: move.handle ?? null, why: toWhy(move.why) })
  return goOn(walk, nodeId, move, walk.facts.now)
}

function goOn(walk: Walk, nodeId: string, move: Move, since: number): Here | Next {
  walk.facts = move.facts ?? walk.facts
  if (move.effect) return failed(`${nodeId}: a wait cannot end in an effect`)
  if (move.call) return { kind: 'call', nodeId, call: move.call }
  if (move.end) return toStorable(move.end)
  const isEntry = walk.registry.find(walk.drawn.nodes.get(nodeId)?.type ?? '')?.role === 'start'
  const found = move.wait || isEntry ? interruption(walk.drawn.interrupts, walk.facts) : null
  if (found) {
    const last = walk.steps.at(-1)
    if (last && move.wait) last.why = whyOf(found)
    return jump(walk, nodeId, found)
  }
  if (!move.wait) return leadsTo(walk, nodeId, move.handle)
  return { kind: 'wait', nodeId, since, ...untilInterrupted(move.wait, walk) }
}

/**
 * A wait ends, to be looked at again, where time alone may interrupt the execution. At one moment that comes before what the
 * execution waits for.
 */
function untilInterrupted(wait: Wait, { drawn, facts }: Walk): Wait {
  const turn = nextInterruption(drawn.interrupts, facts)
  if (turn === null || (wait.until !== null && wait.until < turn)) return wait
  return { ...wait, until: turn, again: true }
}

const leadsTo = (walk: Walk, id: string, handle: string): Here => ({
  kind: 'here',
  id: walk.drawn.targets.get(id)?.get(handle),
})

const whyOf = (by: Interruption): string => (by.kind === 'goal' ? 'goal' : by.outcome)

const follow = (by: Interruption): Here | Next =>
  by.kind === 'goal' ? { kind: 'here', id: by.nodeId, cameBy: 'goal' } : completed(by.outcome)

/** Out of a node that was not gone through. A goal is jumped to once, so what leads back to the node makes no endless loop. */
function jump(walk: Walk, from: string, by: Interruption): Here | Next {
  walk.visited.delete(from)
  return follow(by)
}

const withGoal = (facts: SegmentFacts, id: string): SegmentFacts => ({
  ...facts,
  goalsReached: [...facts.goalsReached, id],
})

const NOT_WIRED: ReadonlySet<string> = new Set()

/** No closure, which costs as much as a node where names of functions are kept. */
function placeOf(walk: Walk, nodeId: string, since: number, cameBy?: string): Place {
  const { settings, facts, tools, drawn } = walk
  const wired = drawn.targets.get(nodeId) ?? NOT_WIRED
  const place: Place = { nodeId, settings, facts, tools, wired, since }
  if (cameBy !== undefined) place.cameBy = cameBy
  return place
}

function afterEffect(result: EffectResult, place: Place): Move {
  if (!result.ok) return failStep(result.why, place)
  const { why, facts = place.facts, end } = result
  return end ? { end, why, facts } : { handle: 'default', why, facts }
}

// A text that was cut may end in half a surrogate pair.
const toWhy = (why: string | null): string | null => (why === null ? null : toStorableText(why))

function toStorable({ error, ...end }: End): End {
  return { ...end, error: error === null ? null : toStorableText(error) }
}

function kindOf({ type }: Node, registry: NodeRegistry): NodeKind {
  const kind = registry.find(type)
  if (!kind) throw new UnknownKind(type)
  return kind
}

/** The handle that an execution takes after a wait at a node, by what ended the wait. */
export function handleAfterWait(
  design: Graph,
  nodeId: string,
  end: WaitEnd,
  registry: NodeRegistry = nodeRegistry,
): string {
  const node = design.nodes.find(({ id }) => id === nodeId)
  return (node && registry.find(node.type)?.leaves?.[end]) ?? 'default'
}
