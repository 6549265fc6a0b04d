// The graph of a design: handles, edges, what can be reached, and loops that would never wait.
import type { Handles, NodeRole } from '../nodes/define.ts'
import type { NodeRegistry } from '../nodes/registry.ts'
import { didYouMean, listed, shown, shownText } from '../shown.ts'
import type { Problem } from './problem.ts'
import type { ProblemCode } from './problemCodes.ts'
import type { Shape, ShapeNode } from './shape.ts'

type Nodes = ReadonlyMap<string, ShapeNode>

/** Why nothing may lead to a node, by the role of its kind; null where an edge may. */
const noEntry: Record<NodeRole, { code: ProblemCode; why: string } | null> = {
  start: { code: 'edge_into_trigger', why: 'a trigger, to which no edge may lead' },
  note: { code: 'edge_into_note', why: 'a note, which never runs' },
  goal: null,
  step: null,
}

/** Every problem of the graph itself; nodes of unknown type are passed over where their handles would matter. */
export function graphProblems(shape: Shape, registry: NodeRegistry): Problem[] {
  const nodes: Nodes = new Map(shape.nodes.map((node) => [node.id, node]))
  return [
    ...edgeProblems(shape, nodes, registry),
    ...handleProblems(shape, registry),
    ...reachProblems(shape, registry),
    ...loopProblems(shape, nodes, registry),
  ]
}

/** Undefined where the node's type is not known. */
function roleOf(node: ShapeNode, registry: NodeRegistry): NodeRole | undefined {
  const kind = registry.find(node.type)
  return kind && (kind.role ?? 'step')
}

function nodeProblem(node: ShapeNode, code: ProblemCode, message: string): Problem {
  return { node_id: node.id, path: node.path, message, code }
}

function edgeProblems(shape: Shape, nodes: Nodes, registry: NodeRegistry): Problem[] {
  const problems: Problem[] = []
  const taken = new Set<string>()
  for (const { source, target, handle, path } of shape.edges) {
    const [from, to] = [nodes.get(source), nodes.get(target)]
    const report = (key: string, code: ProblemCode, message: string): void => {
      problems.push({ node_id: from ? source : null, path: `${path}.${key}`, message, code })
    }
    if (!from) report('source', 'unknown_node', `source: ${noNode(source, nodes)}`)
    if (!to) report('target', 'unknown_node', `target: ${noNode(target, nodes)}`)
    const role = to && roleOf(to, registry)
    const refused = role && noEntry[role]
    if (refused) report('target', refused.code, `target: ${target} is ${refused.why}`)
    const handles = from && handlesOf(from, registry)
    if (handles && ![...handles.required, ...handles.optional].includes(handle)) {
      report('sourceHandle', 'unknown_handle', noHandle(from, handle, handles))
    }
    // Ids and handles are told apart by a character that no id has.
    const key = `${source} ${handle}`
    if (taken.has(key)) {
      const message = `sourceHandle: another edge leaves ${source} by ${shown(handle)} already`
      report('sourceHandle', 'duplicate_edge', message)
    }
    taken.add(key)
  }
  return problems
}

function noNode(id: string, nodes: Nodes): string {
  return `no node has the id ${shown(id)}${didYouMean(id, [...nodes.keys()])}`
}

function noHandle({ type }: ShapeNode, handle: string, { required, optional }: Handles): string {
  const known = [...required, ...optional]
  const has = known.length === 0 ? 'and no edge may leave it' : `it has ${listed(known)}`
  return `sourceHandle: the ${shownText(type)} node has no handle ${shown(handle)}, ${has}${didYouMean(handle, known)}`
}

/** The handles of a node; null when its type or data cannot tell. */
function handlesOf(node: ShapeNode, registry: NodeRegistry): Handles | null {
  return (node.data && registry.find(node.type)?.handles(node.data)) ?? null
}

function handleProblems(shape: Shape, registry: NodeRegistry): Problem[] {
  const wired = new Set(shape.edges.map((edge) => `${edge.source} ${edge.handle}`))
  return shape.nodes.flatMap((node) =>
    (handlesOf(node, registry)?.required ?? [])
      .filter((handle) => !wired.has(`${node.id} ${handle}`))
      .map((handle) =>
        nodeProblem(
          node,
          'unwired_handle',
          `no edge leaves by the handle ${shown(handle)}, which must lead somewhere`,
        ),
      ),
  )
}

function reachProblems(shape: Shape, registry: NodeRegistry): Problem[] {
  const starts = shape.nodes.filter((node) => roleOf(node, registry) === 'start')
  if (starts.length === 0) {
    const message = 'nodes must hold at least one node of type trigger'
    return [{ node_id: null, path: 'nodes', message, code: 'no_trigger' }]
  }
  const targets = targetsOf(shape)
  const reached = new Set<string>()
  const entered = shape.nodes.filter((node) => roleOf(node, registry) === 'goal')
  const open = [...starts, ...entered].map((node) => node.id)
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (reached.has(id)) continue
    reached.add(id)
    open.push(...(targets.get(id) ?? []))
  }
  return shape.nodes
    .filter((node) => roleOf(node, registry) !== 'note' && !reached.has(node.id))
    .map((node) =>
      nodeProblem(node, 'unreachable_node', 'no path of edges leads from a trigger to this node'),
    )
}

function targetsOf(shape: Shape): Map<string, string[]> {
  const targets = new Map<string, string[]>()
  for (const { source, target } of shape.edges) {
    const known = targets.get(source)
    if (known) known.push(target)
    else targets.set(source, [target])
  }
  return targets
}

/** One problem for each node that closes a loop in which no node waits. */
function loopProblems(shape: Shape, nodes: Nodes, registry: NodeRegistry): Problem[] {
  const targets = targetsOf(shape)
  const state = new Map<string, 'open' | 'done'>()
  const closing = new Set<ShapeNode>()
  const isWait = ({ type, data }: ShapeNode): boolean =>
    data !== null && registry.find(type)?.waits(data) === true
  // As deep as the design has nodes, 300 at most.
  const visit = (node: ShapeNode): void => {
    state.set(node.id, 'open')
    for (const id of targets.get(node.id) ?? []) {
      const next = nodes.get(id)
      if (!next || isWait(next)) continue
      if (state.get(id) === 'open') closing.add(next)
      else if (!state.has(id)) visit(next)
    }
    state.set(node.id, 'done')
  }
  for (const node of shape.nodes) if (!isWait(node) && !state.has(node.id)) visit(node)
  return [...closing].map((node) =>
    nodeProblem(
      node,
      'loop_without_wait',
      'a loop of edges leads back to this node without a delay or a wait in it',
    ),
  )
}
