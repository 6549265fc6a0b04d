// What a walk looks up in a design: its nodes, where their edges lead, and what may interrupt it.

import { edgeHandle } from './design/shape.ts'
import type { Graph } from './design/types.ts'
import { type Interrupts, interruptsOf } from './interrupts.ts'

export interface Drawn {
  readonly nodes: ReadonlyMap<string, Graph['nodes'][number]>
  /** Where edges lead, by node and then by handle. */
  readonly targets: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly interrupts: Interrupts | null
}

/** Made once for each design, since one that is walked for many contacts would spend most of its time here. */
const known = new WeakMap<Graph, Drawn>()

/** @param design which nobody changes afterwards */
export function drawnOf(design: Graph): Drawn {
  const found = known.get(design)
  if (found) return found
  const targets = new Map<string, Map<string, string>>()
  for (const { source, sourceHandle, target } of design.edges) {
    const own = targets.get(source) ?? new Map<string, string>()
    targets.set(source, own.set(edgeHandle(sourceHandle), target))
  }
  const nodes = new Map(design.nodes.map((node) => [node.id, node]))
  const drawn = { nodes, targets, interrupts: interruptsOf(design) }
  known.set(design, drawn)
  return drawn
}
