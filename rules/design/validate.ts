// Everything that must hold before a design may be activated, all problems at once.

import { type CheckAt, type DesignContext, problemAt } from './context.ts'
import { checkOneOf, checkSender } from './fieldChecks.ts'
import { graphProblems } from './graph.ts'
import { nodeRule } from './nodeRules.ts'
import { readShape, type Shape, type ShapeNode } from './shape.ts'
import type { Problem } from './types.ts'

export {
  type DesignContext,
  type DesignReferences,
  designReferences,
  type TemplateFacts,
} from './context.ts'
export { checkDesignShape, type RawDesign } from './shape.ts'

/**
 * Every problem that keeps a design from being activated, with its node; none means that it is a `Design`.
 * `context` holds what `designReferences` asked for. Total: takes any JSON.
 */
export function validateDesign(design: unknown, context: DesignContext): Problem[] {
  const shape = readShape(design)
  const at = { ...idsByType(shape), settings: shape.settings, context }
  return [
    ...shape.problems,
    ...settingsProblems({ ...at, nodeId: null, path: 'settings', data: shape.settings }),
    ...shape.nodes.flatMap((node) => nodeProblems(node, at)),
    // Without any node that could be read, the shape's problems say it all.
    ...(shape.nodes.length > 0 || shape.problems.length === 0 ? graphProblems(shape) : []),
  ]
}

type Surroundings = Omit<CheckAt, 'nodeId' | 'path' | 'data'>

function idsByType(shape: Shape): Pick<CheckAt, 'waitNodes' | 'sendNodes'> {
  const ids = (type: string): Set<string> =>
    new Set(shape.nodes.filter((node) => node.type === type).map((node) => node.id))
  return { waitNodes: ids('wait_for_event'), sendNodes: ids('send_email') }
}

function nodeProblems(node: ShapeNode, at: Surroundings): Problem[] {
  // Bad types and data were reported with the shape.
  if (node.type === '') return []
  const rule = nodeRule(node.type)
  if (!rule) {
    const message = `unknown node type ${node.type.slice(0, 64)}`
    return [{ node_id: node.id, path: `${node.path}.type`, message, code: 'unknown_node_type' }]
  }
  if (node.data === null) return []
  return rule.check({ ...at, nodeId: node.id, path: `${node.path}.data`, data: node.data })
}

const settingKeys = ['on_unsubscribe', 'on_step_failure', 'default_from']

function settingsProblems(at: CheckAt): Problem[] {
  const unknown = Object.keys(at.data).filter((key) => !settingKeys.includes(key))
  return [
    ...unknown.flatMap((key) =>
      problemAt(at, key.slice(0, 64), 'unknown_setting', 'this setting is not supported'),
    ),
    ...checkOneOf(at, 'on_unsubscribe', ['cancel', 'skip_sends']),
    ...checkOneOf(at, 'on_step_failure', ['fail', 'continue']),
    ...checkSender(at, 'default_from'),
  ]
}
