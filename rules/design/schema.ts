// The schema of a design as JSON Schema: what the interface description shows of nodes, edges, settings and conditions.
import { z } from 'zod'
import { anyJson, conditionSchema } from '../conditions/schema.ts'
import { limits } from '../limits.ts'
import type { NodeKind } from '../nodes/define.ts'
import { nodeRegistry } from '../nodes/index.ts'
import type { NodeRegistry } from '../nodes/registry.ts'
import { settingsSchema } from './settings.ts'

/** One named schema of JSON Schema 2020-12, as OpenAPI 3.1 takes it. */
export type JsonSchema = Record<string, unknown>

const graphId = z
  .string()
  .regex(/^[A-Za-z0-9_-]+$/)
  .max(limits.nodeIdCharsMax)

const edgeSchema = z
  .object({
    id: graphId.describe('1-64 letters, digits, `_` and `-`; no other edge has it'),
    source: graphId.describe('The id of the node that the edge leaves'),
    target: graphId.describe('The id of the node that the edge leads to'),
    sourceHandle: z
      .string()
      .nullable()
      .describe('The handle by which it leaves the node')
      .meta({ default: 'default' })
      .exactOptional(),
  })
  .describe('An arrow from one node to the next; one leaves by each handle')

function nodeSchema({ type, summary, data }: NodeKind) {
  return z
    .object({
      id: graphId.describe('1-64 letters, digits, `_` and `-`; no other node has it'),
      type: z.literal(type).describe('The kind of the node'),
      data,
      position: anyJson
        .describe('Where an editor draws the node; nothing else reads it')
        .exactOptional(),
    })
    .describe(summary)
}

/** `wait_for_event` → `WaitForEventNode` */
function nodeSchemaName({ type }: NodeKind): string {
  const words = type.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return `${words.join('')}Node`
}

export const designSchemaName = 'Design'
const nodeName = 'DesignNode'

/**
 * The schemas by name: the design, its nodes kind by kind, edges, settings and conditions. They refer to each other as
 * `#/components/schemas/<name>`. They say what a design should be; the codes of `validateDesign` say what is wrong.
 */
export function designSchemas(registry: NodeRegistry = nodeRegistry): Record<string, JsonSchema> {
  const named = z.registry<{ id: string }>()
  const name = <T extends z.ZodType>(id: string, schema: T): T => {
    named.add(schema, { id })
    return schema
  }
  // Before its users: a schema that is met inside another one first is written out there.
  name('Condition', conditionSchema)
  const nodes = registry.kinds.map((kind) => name(nodeSchemaName(kind), nodeSchema(kind)))
  const [first, ...others] = nodes
  if (!first) throw new Error('there are no node kinds')
  const node = name(
    nodeName,
    z
      .discriminatedUnion('type', [first, ...others])
      .describe('A node of one of these kinds, told apart by `type`'),
  )
  const design = z
    .object({
      nodes: z.array(node).max(limits.designNodesMax),
      edges: z.array(name('DesignEdge', edgeSchema)).max(limits.designEdgesMax),
      settings: name('DesignSettings', settingsSchema).exactOptional(),
    })
    .describe(
      `Nodes and edges, as React Flow writes them, at most ${limits.designBytesMax / 1024} KiB. A draft may be ` +
        'unfinished; to be active, a design must have no problems',
    )
  name(designSchemaName, design)

  const uri = (id: string) => `#/components/schemas/${id}`
  // Of what is sent: keys that a schema does not name are kept and passed over.
  const { schemas } = z.toJSONSchema(named, { io: 'input', uri, target: 'draft-2020-12' })
  const mapping = registry.kinds.map((kind) => [kind.type, uri(nodeSchemaName(kind))])
  const discriminator = { propertyName: 'type', mapping: Object.fromEntries(mapping) }
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema, $id, ...schema }]) => [
      id,
      id === nodeName ? { ...schema, discriminator } : schema,
    ]),
  )
}
