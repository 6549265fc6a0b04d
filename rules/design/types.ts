// The design graph of a workflow, as React Flow reads and writes it. What its nodes may be comes from their kinds.
import type { z } from 'zod'
import type { Json } from '../json.ts'
import type { nodeKinds } from '../nodes/index.ts'
import type { Settings } from './settings.ts'

export type { ReEntry } from '../nodes/reEntry.ts'

interface Edge {
  id: string
  source: string
  target: string
  sourceHandle?: string | null
}

type Kind = (typeof nodeKinds)[number]

type NodeOfKind<K extends Kind> = K extends Kind
  ? { id: string; type: K['type']; data: z.infer<K['data']>; position?: Json }
  : never

export type Node = NodeOfKind<Kind>

/** A graph of any kinds of node that some registry knows. */
export interface Graph {
  nodes: readonly { id: string; type: string; data: object }[]
  edges: readonly Edge[]
  settings?: Settings
}

/** A graph that validateDesign has accepted. */
export interface Design extends Graph {
  nodes: Node[]
  edges: Edge[]
}
