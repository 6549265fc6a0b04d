// The design graph of a workflow: nodes, edges and settings as React Flow reads and writes them.
import type { Condition } from '../conditions/types.ts'
import type { Json, JsonObject } from '../json.ts'

export interface Edge {
  id: string
  source: string
  target: string
  sourceHandle?: string | null
}

export type TriggerData =
  | { kind: 'event'; event_name: string; filter?: Condition; re_entry?: ReEntry }
  | { kind: 'manual'; re_entry?: ReEntry }

export interface ReEntry {
  mode: 'every' | 'once' | 'after_exit' | 'interval'
  min_interval_ms?: number
  key_path?: string
}

export interface SendEmailData {
  template_id?: string
  subject?: string
  html?: string
  text?: string
  from?: string
  reply_to?: string
  variables?: JsonObject
  category?: 'marketing' | 'transactional'
  guard?: Condition
  on_suppressed?: 'skip' | 'exit' | 'fail'
}

export type DelayData =
  | { duration: string; jitter_ms?: number }
  | { ms: number; jitter_ms?: number }

export interface WaitForEventData {
  event_name: string
  filter?: Condition
  match?: { event_path: string; equals_path: string }[]
  /** ISO 8601. */
  timeout?: string
  lookback_ms?: number
}

export interface BranchData {
  branches: { id: string; label?: string; condition: Condition }[]
}

export interface UpdateContactData {
  set?: JsonObject
  unset?: string[]
  increment?: Record<string, number>
}

interface NodeDataByType {
  trigger: TriggerData
  send_email: SendEmailData
  delay: DelayData
  wait_for_event: WaitForEventData
  condition: { condition: Condition }
  branch: BranchData
  update_contact: UpdateContactData
  exit: { outcome?: string }
}

export type NodeType = keyof NodeDataByType

export type Node = {
  [T in NodeType]: { id: string; type: T; data: NodeDataByType[T]; position?: Json }
}[NodeType]

export type NodeOf<T extends NodeType> = Extract<Node, { type: T }>

export interface Settings {
  on_unsubscribe?: 'cancel' | 'skip_sends'
  on_step_failure?: 'fail' | 'continue'
  default_from?: string
}

/** A graph that validateDesign has accepted. */
export interface Design {
  nodes: Node[]
  edges: Edge[]
  settings?: Settings
}

/** What is wrong with a design, and where. */
export interface Problem {
  node_id: string | null
  /** Dotted path from the design's root: `nodes.3.data.duration`. */
  path: string
  message: string
  /** snake_case, stable. */
  code: string
}
