// Tables of node kinds, from the registry: all kinds, and the settings and handles of each.
import { designSchemas } from '../../rules/design/schema.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { NodeKind } from '../../rules/nodes/define.ts'
import { nodeRegistry } from '../../rules/nodes/index.ts'
import type { NodeRegistry } from '../../rules/nodes/registry.ts'
import { fieldsTable } from './fields.ts'
import { code, markdownTable } from './markdown.ts'

/** Each kind with its one sentence. */
export function nodeKindsTable(): string {
  return markdownTable(
    ['kind', 'what it does'],
    nodeRegistry.kinds.map(({ type, summary }) => [`[${code(type)}](#${type})`, summary]),
  )
}

/** The tables of each kind, by the name `node:<kind>`. */
export function nodeTables(registry: NodeRegistry = nodeRegistry): Record<string, () => string> {
  return Object.fromEntries(
    registry.kinds.map((kind) => [`node:${kind.type}`, () => nodeTable(kind, registry)]),
  )
}

/** The settings of a kind, and its handles. */
function nodeTable(kind: NodeKind, registry: NodeRegistry): string {
  const settings = fieldsTable(dataSchema(kind, registry), 'setting')
  return [settings || 'It has no settings.', handlesTable(kind)].join('\n\n')
}

function dataSchema({ type }: NodeKind, registry: NodeRegistry): JsonObject {
  for (const schema of Object.values(designSchemas(registry))) {
    const { properties } = schema as { properties?: Record<string, JsonObject> }
    if (properties?.['type']?.['const'] === type && properties['data']) return properties['data']
  }
  throw new Error(`no schema describes the node kind ${type}`)
}

function handlesTable({ handleTexts, handles, role }: NodeKind): string {
  const texts = Object.entries(handleTexts)
  if (texts.length === 0) {
    return role === 'note' ? 'It has no handles.' : 'It has no handles: nothing follows it.'
  }
  const { optional } = handles({})
  return markdownTable(
    ['handle', 'taken when', 'must lead somewhere'],
    texts.map(([handle, when]) => [code(handle), when, optional.includes(handle) ? 'no' : 'yes']),
  )
}
