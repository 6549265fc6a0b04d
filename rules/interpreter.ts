// The interpreter: walks a design from one wait to the next. Pure, so the same facts always give the same steps.
import { edgeHandle } from './design/shape.ts'
import type { Graph } from './design/types.ts'
import type {
  End,
  Next,
  SegmentFacts,
  SegmentOutcome,
  SegmentStart,
  SegmentTools,
  Step,
  WaitEnd,
} from './interpreterTypes.ts'
import { toStorableText } from './jsonFault.ts'
import { limits } from './limits.ts'
import type { Move, Place } from './nodes/define.ts'
import { nodeRegistry } from './nodes/index.ts'
import { completed, failed } from './nodes/moves.ts'
import type { NodeRegistry } from './nodes/registry.ts'

/**
 * Runs one segment: from `start`, node after node, until the next wait or the end. `facts.execution.step_count` is
 * the count before the segment; conditions see the current count, and the properties as earlier nodes have changed
 * them. A handle without an edge ends the execution COMPLETED.
 * @throws UnknownKind; nothing for a design that this release's `validateDesign` accepts
 */
export function walkSegment(
  design: Graph,
  start: SegmentStart,
  facts: SegmentFacts,
  tools: SegmentTools,
  registry: NodeRegistry = nodeRegistry,
): SegmentOutcome {
  const nodes = new Map(design.nodes.map((node) => [node.id, node]))
  const targets = new Map(
    design.edges.map((edge) => [`${edge.source} ${edgeHandle(edge.sourceHandle)}`, edge.target]),
  )
  const settings = design.settings ?? {}
  const steps: Step[] = []
  let running = facts
  const outcome = (next: Next): SegmentOutcome => ({
    steps,
    facts: running,
    next,
  })

  let id: string | undefined =
    start.kind === 'trigger' ? start.nodeId : targets.get(`${start.nodeId} ${start.handle}`)
  while (id !== undefined) {
    const nodeId: string = id
    const node = nodes.get(nodeId)
    if (!node) return outcome(failed(`the design has no node ${nodeId}`))
    if (steps.length >= limits.stepsPerSegmentMax) {
      return outcome(failed(`more than ${limits.stepsPerSegmentMax} nodes without a wait`))
    }
    const step_count = running.execution.step_count + 1
    running = { ...running, execution: { step_count } }
    tools.entering?.(nodeId)
    const isWired = (handle: string): boolean => targets.has(`${nodeId} ${handle}`)
    const move = enter(node, { nodeId, settings, facts: running, tools, isWired }, registry)
    running = move.facts ?? running
    // A text that was cut may end in half a surrogate pair.
    const why = move.why === null ? null : toStorableText(move.why)
    steps.push({ nodeId, type: node.type, handle: move.handle ?? null, why })
    if (move.end) return outcome(toStorable(move.end))
    if (move.wait) return outcome({ kind: 'wait', nodeId, ...move.wait })
    id = targets.get(`${nodeId} ${move.handle}`)
  }
  return outcome(completed())
}

/** The design has a kind of node that only a newer release knows: its workers must run the segment. */
export class UnknownKind extends Error {
  constructor(type: string) {
    super(`this release knows no ${type} node`)
  }
}

function toStorable({ error, ...end }: End): End {
  return { ...end, error: error === null ? null : toStorableText(error) }
}

function enter(node: Graph['nodes'][number], place: Place, registry: NodeRegistry): Move {
  const kind = registry.find(node.type)
  if (!kind) throw new UnknownKind(node.type)
  return kind.enter(node.data, place)
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
