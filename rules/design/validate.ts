// Everything that must hold before a design may be activated, all problems at once.
import { limits } from '../limits.ts'
import type { NodeKind } from '../nodes/define.ts'
import { nodeRegistry } from '../nodes/index.ts'
import type { NodeRegistry } from '../nodes/registry.ts'
import { mustBeOneOf } from '../shown.ts'
import type { CheckAt, DesignContext } from './context.ts'
import { graphProblems } from './graph.ts'
import type { Problem } from './problem.ts'
import { settingsProblems } from './settings.ts'
import { readShape, type Shape, type ShapeNode } from './shape.ts'

/**
 * Every problem that keeps a design from being activated, with its node; none means that it is a `Design`.
 * `context` holds what `designReferences` asked for. Total: takes any JSON.
 * @param isWanted leaves out problems, before they are cut to as many as an answer shows
 */
export function validateDesign(
  design: unknown,
  context: DesignContext,
  registry: NodeRegistry = nodeRegistry,
  isWanted: (problem: Problem) => boolean = () => true,
): Problem[] {
  const shape = readShape(design)
  const at: Surroundings = {
    waitNodes: recording(shape, 'wait_events', registry),
    storedNames: storedNames(shape, registry),
    sendNodes: recording(shape, 'email_activity', registry),
    settings: shape.settings,
    context,
  }
  const problems = [
    ...shape.problems,
    ...settingsProblems({ ...at, nodeId: null, path: 'settings', data: shape.settings }),
    ...shape.nodes.flatMap((node) => nodeProblems(node, at, registry)),
    // Without any node that could be read, the shape's problems say it all.
    ...(shape.nodes.length > 0 || shape.problems.length === 0
      ? graphProblems(shape, registry)
      : []),
  ]
  return firstOf(problems.filter(isWanted))
}

/** A design of 256 KiB can be wrong in tens of thousands of places: an answer lists what a person could read. */
function firstOf(problems: Problem[]): Problem[] {
  const most = limits.problemsShownMax
  if (problems.length <= most) return problems
  const message = `the design has ${problems.length} problems; these are the first ${most}`
  return [...problems.slice(0, most), { node_id: null, path: '', message, code: 'too_many' }]
}

type Surroundings = Omit<CheckAt, 'nodeId' | 'path' | 'data'>

/** Ids of the nodes that leave such facts behind. */
function recording(
  shape: Shape,
  facts: NonNullable<NodeKind['records']>,
  registry: NodeRegistry,
): Set<string> {
  const nodes = shape.nodes.filter(({ type }) => registry.find(type)?.records === facts)
  return new Set(nodes.map(({ id }) => id))
}

/** Names under which the nodes keep what others read as `steps.<name>`. */
function storedNames(shape: Shape, registry: NodeRegistry): Set<string> {
  const names = shape.nodes.map(({ type, data }) => data && registry.find(type)?.stores?.(data))
  return new Set(names.filter((name) => typeof name === 'string'))
}

function nodeProblems(node: ShapeNode, at: Surroundings, registry: NodeRegistry): Problem[] {
  // Bad types and data were reported with the shape.
  if (node.type === '') return []
  const kind = registry.find(node.type)
  if (!kind) {
    const types = registry.kinds.map(({ type }) => type)
    const message = `type ${mustBeOneOf(types, node.type)}`
    return [{ node_id: node.id, path: `${node.path}.type`, message, code: 'unknown_node_type' }]
  }
  if (node.data === null) return []
  return kind.check({ ...at, nodeId: node.id, path: `${node.path}.data`, data: node.data })
}
