// Runs small designs through the interpreter, for its tests.
import type { Condition } from '../../../rules/conditions/types.ts'
import type { Design, Node } from '../../../rules/design/types.ts'
import { walkSegment } from '../../../rules/interpreter.ts'
import type { SegmentFacts, SegmentTools, SendOutcome } from '../../../rules/interpreterTypes.ts'
import type { SendEmailData } from '../../../rules/nodes/sendEmail.ts'
import { edgesOf, factsOf } from './builders.ts'

export const start = { kind: 'trigger', nodeId: 't' } as const
export const exists: Condition = { type: 'rule', field: 'event.a', operator: 'exists' }
export const mail: SendEmailData = { template_id: 'welcome' }

export function sending(
  outcome: SendOutcome = { kind: 'sent' },
): SegmentTools & { sent: string[] } {
  const sent: string[] = []
  return {
    sent,
    sendEmail(nodeId) {
      sent.push(nodeId)
      return outcome
    },
  }
}

export function designOf(nodes: Node[], ...edges: string[]): Design {
  const trigger: Node = { id: 't', type: 'trigger', data: { kind: 'manual' } }
  return { nodes: [trigger, ...nodes], edges: edgesOf(...edges) }
}

/** Runs trigger → one node, with its handles connected to exits of the same names. */
export function runOne(
  node: Node,
  handles: string[],
  facts: SegmentFacts = factsOf(),
  tools = sending(),
) {
  const exits = handles.map(
    (handle): Node => ({ id: `to_${handle}`, type: 'exit', data: { outcome: handle } }),
  )
  const wires = handles.map((handle) => `${node.id}.${handle}>to_${handle}`)
  return walkSegment(designOf([node, ...exits], `t>${node.id}`, ...wires), start, facts, tools)
}

export const ended = (outcome: string) => ({
  kind: 'end',
  status: 'COMPLETED',
  outcome,
  error: null,
})
export const failed = (error: string) => ({ kind: 'end', status: 'FAILED', outcome: null, error })
