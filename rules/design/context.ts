// What a check of a design needs: the node or settings it looks at, and what the workspace holds.
import type { JsonObject } from '../json.ts'
import type { Schedule } from '../time/schedule.ts'
import type { Problem } from './problem.ts'
import type { ProblemCode } from './problemCodes.ts'

export interface TemplateFacts {
  status: 'draft' | 'published'
  /** Of the published version. */
  hasSubject: boolean
  /** The template's own sender; null when it has none. */
  from: string | null
}

/** The workspace as far as `designReferences` asked for it. */
export interface DesignContext {
  /** By id or alias, as the design names them. */
  templates: ReadonlyMap<string, TemplateFacts>
  /** Names, in lower case, of the domains that may send. */
  verifiedDomains: ReadonlySet<string>
  /** Whether these are the domains of whoever asks, and not all of the workspace. */
  isBound?: boolean
  /** Ids of audiences that exist. */
  audiences: ReadonlySet<string>
  /** Ids of segments that exist; absent: not checked. */
  segments?: ReadonlySet<string>
  /** Ids of workflows that exist and are not archived. */
  workflows: ReadonlySet<string>
  /** Names of the workspace's secrets; absent: not checked. */
  secrets?: ReadonlySet<string>
  /** ms; absent: it is not asked whether moments are over. */
  now?: number
  /**
   * Of the version that was active last, with the zones whose clocks count: what has the same times and audience goes on, also where its
   * moment is over. Absent: none was active.
   */
  activeSchedules?: readonly { node_id: string; schedule: Schedule; audience_id: string }[]
  /** What is wrong with a Liquid text, or null; absent: inline texts are not parsed. */
  liquidProblem?(source: string): string | null
}

/** Where a check stands: one node's data, or the settings. */
export interface CheckAt {
  nodeId: string | null
  /** Dotted path of `data` from the design's root: `nodes.3.data`, `settings`. */
  path: string
  data: JsonObject
  settings: JsonObject
  /** Ids of the nodes whose kind records `wait_events`. */
  waitNodes: ReadonlySet<string>
  /** Ids of the nodes whose kind records `email_activity`. */
  sendNodes: ReadonlySet<string>
  /** Names by which nodes keep answers, for `steps.<name>`. */
  storedNames: ReadonlySet<string>
  context: DesignContext
}

/** One problem at a key of the data; `''` is the data itself. */
export function problemAt(at: CheckAt, key: string, code: ProblemCode, message: string): Problem[] {
  const path = key === '' ? at.path : `${at.path}.${key}`
  return [{ node_id: at.nodeId, path, message, code }]
}
