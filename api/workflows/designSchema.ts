// The design in the interface description. A body's design is taken as any object: what is wrong with it is told
// by the codes of its own check, all at once.
import { type OpenAPIHono, z } from '@hono/zod-openapi'
import { designSchemaName, designSchemas } from '../../rules/design/schema.ts'
import { isJsonObject, type JsonObject } from '../../rules/json.ts'
import type { NodeRegistry } from '../../rules/nodes/registry.ts'
import type { ApiEnv } from '../http/env.ts'

/** A design in a request. */
export const designField = z
  .custom<JsonObject>(isJsonObject, 'must be an object')
  .openapi({ type: 'object', allOf: [{ $ref: `#/components/schemas/${designSchemaName}` }] })

/** A design in an answer: as it was sent, and so unfinished where it is a draft's. */
export const storedDesign = z.record(z.string(), z.unknown()).openapi({
  description: `As it was sent: a \`${designSchemaName}\`, which in a draft may be unfinished`,
})

/** Puts the schemas that `designField` refers to among the components; of the service's own kinds unless said. */
export function describeDesign(app: OpenAPIHono<ApiEnv>, registry?: NodeRegistry): void {
  for (const [name, schema] of Object.entries(designSchemas(registry))) {
    app.openAPIRegistry.registerComponent('schemas', name, schema)
  }
}
