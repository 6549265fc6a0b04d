// The schema of a design for the interface description. The API accepts any object as a design and reports all its
// problems with their codes.
import { type OpenAPIHono, z } from '@hono/zod-openapi'
import { designSchemaName, designSchemas } from '../../rules/design/schema.ts'
import { isJsonObject, type JsonObject } from '../../rules/json.ts'
import type { NodeRegistry } from '../../rules/nodes/registry.ts'
import type { ApiEnv } from '../http/env.ts'

/** A design in a request. */
export const designField = z
  .custom<JsonObject>(isJsonObject, 'must be an object')
  .openapi({ type: 'object', allOf: [{ $ref: `#/components/schemas/${designSchemaName}` }] })

/** A design in an answer: unchanged, so that of a draft may be unfinished. */
export const storedDesign = z.record(z.string(), z.unknown()).openapi({
  description: `As it was sent: a \`${designSchemaName}\`, which in a draft may be unfinished`,
})

/**
 * Adds the schemas that `designField` refers to to the components, by default those of the service's node kinds.
 */
export function describeDesign(app: OpenAPIHono<ApiEnv>, registry?: NodeRegistry): void {
  for (const [name, schema] of Object.entries(designSchemas(registry))) {
    app.openAPIRegistry.registerComponent('schemas', name, schema)
  }
}
