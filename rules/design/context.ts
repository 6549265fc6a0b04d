// What validation must know of the workspace, and what a design refers to, so that it can be loaded.

import { isJsonObject, type JsonObject } from '../json.ts'
import { readShape } from './shape.ts'
import type { Problem } from './types.ts'

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
  /** Ids of audiences that exist. */
  audiences: ReadonlySet<string>
  /** What is wrong with a Liquid text, or null; absent: inline texts are not parsed. */
  liquidProblem?(source: string): string | null
}

export interface DesignReferences {
  /** Ids or aliases. */
  templateIds: string[]
  /** Senders as written, `settings.default_from` among them. */
  fromAddresses: string[]
  audienceIds: string[]
}

/** What a design, valid or not, refers to outside itself. Total: takes any JSON. */
export function designReferences(design: unknown): DesignReferences {
  const shape = readShape(design)
  const sends = shape.nodes
    .filter((node) => node.type === 'send_email')
    .map((node) => node.data ?? {})
  return {
    templateIds: texts(sends.map((data) => data['template_id'])),
    fromAddresses: texts([...sends.map((data) => data['from']), shape.settings['default_from']]),
    audienceIds: texts(shape.nodes.flatMap((node) => audienceIds(node.data))),
  }
}

/** Ids in `audience` conditions anywhere below a value; readShape has bounded its depth. */
function audienceIds(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(audienceIds)
  if (!isJsonObject(value)) return []
  const here = value['type'] === 'audience' ? [value['audience_id']] : []
  return [...here, ...Object.values(value).flatMap(audienceIds)]
}

function texts(values: unknown[]): string[] {
  return [
    ...new Set(values.filter((value) => typeof value === 'string' && value !== '')),
  ] as string[]
}

/** Where a check stands: one node's data, or the settings. */
export interface CheckAt {
  nodeId: string | null
  /** Of `data`. */
  path: string
  data: JsonObject
  settings: JsonObject
  waitNodes: ReadonlySet<string>
  sendNodes: ReadonlySet<string>
  context: DesignContext
}

/** One problem at a key of the data; `''` is the data itself. */
export function problemAt(at: CheckAt, key: string, code: string, message: string): Problem[] {
  const path = key === '' ? at.path : `${at.path}.${key}`
  return [{ node_id: at.nodeId, path, message, code }]
}
