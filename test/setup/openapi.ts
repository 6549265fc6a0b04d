// Reads the interface description of the application: its operations with schemas without references.

/** The part of JSON Schema 2020-12 that the description uses. */
export interface Schema {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: boolean | Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  $ref?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  pattern?: string
  format?: string
}

export interface Operation {
  /** Name as in `TestRoute`: `GET /v1/emails/:id` */
  name: string
  method: string
  /** Path with Hono's parameters. */
  path: string
  parameters: { name: string; in: string; schema: Schema }[]
  body: Schema | null
  /** Schema of the answer by status; null if the answer has no body. */
  responses: Map<number, Schema | null>
  /** Statuses whose answer is a file of CSV. */
  files: Set<number>
}

interface Content {
  content?: { 'application/json'?: { schema: Schema }; 'text/csv'?: object }
}

interface Described {
  parameters?: Operation['parameters']
  requestBody?: Content
  responses: Record<string, Content>
}

interface Document {
  paths: Record<string, Record<string, Described>>
  components: { schemas: Record<string, Schema> }
}

/** What the description is asked of. */
interface Application {
  request(path: string): Response | Promise<Response>
}

/** The operations of an application, by its own description. */
export async function readOperations({ app }: { app: Application }): Promise<Operation[]> {
  const response = await app.request('/v1/openapi.json')
  const { paths, components } = (await response.json()) as Document
  const { schemas } = components
  const plain = (given: Content | undefined) => {
    const schema = given?.content?.['application/json']?.schema
    return schema ? flatten(schema, schemas) : null
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      const honoPath = path.replace(/\{(\w+)\}/g, ':$1')
      return {
        name: `${method.toUpperCase()} ${honoPath}`,
        method: method.toUpperCase(),
        path: honoPath,
        parameters: described.parameters ?? [],
        body: plain(described.requestBody),
        files: new Set(
          Object.entries(described.responses).flatMap(([status, { content }]) =>
            content?.['text/csv'] ? [Number(status)] : [],
          ),
        ),
        responses: new Map(
          Object.entries(described.responses).map(([status, one]) => [Number(status), plain(one)]),
        ),
      }
    }),
  )
}

/** How deep a schema may contain itself; below that any JSON is allowed. */
const NESTED_MAX = 2

/** Resolves `$ref`, `allOf` and `oneOf`. */
function flatten(
  schema: Schema,
  named: Record<string, Schema>,
  within: readonly string[] = [],
): Schema {
  const { $ref, allOf, oneOf, ...own } = schema
  if ($ref) {
    const target = named[$ref.split('/').at(-1) ?? '']
    if (!target) throw new Error(`the description has no ${$ref}`)
    if (within.filter((one) => one === $ref).length >= NESTED_MAX) return own
    return { ...flatten(target, named, [...within, $ref]), ...own }
  }
  if (oneOf) own.anyOf = [...(own.anyOf ?? []), ...oneOf]
  const inner = (one: Schema) => flatten(one, named, within)
  const parts = (allOf ?? []).map(inner)
  const whole: Schema = {}
  for (const part of [...parts, own]) {
    Object.assign(whole, part, {
      ...(whole.properties || part.properties
        ? { properties: { ...whole.properties, ...part.properties } }
        : {}),
      ...(whole.required || part.required
        ? { required: [...new Set([...(whole.required ?? []), ...(part.required ?? [])])] }
        : {}),
    })
  }
  if (whole.properties) {
    const entries = Object.entries(whole.properties)
    whole.properties = Object.fromEntries(entries.map(([name, one]) => [name, inner(one)]))
  }
  if (whole.items) whole.items = inner(whole.items)
  if (whole.anyOf) whole.anyOf = whole.anyOf.map(inner)
  if (typeof whole.additionalProperties === 'object') {
    whole.additionalProperties = inner(whole.additionalProperties)
  }
  return whole
}

/** The schema with `additionalProperties: false` in every object. */
export function closed(schema: Schema): Schema {
  const result = { ...schema }
  if (schema.properties) {
    const entries = Object.entries(schema.properties)
    result.properties = Object.fromEntries(entries.map(([name, one]) => [name, closed(one)]))
    result.additionalProperties ??= false
  }
  if (schema.items) result.items = closed(schema.items)
  if (schema.anyOf) result.anyOf = schema.anyOf.map(closed)
  return result
}

/** The types that a schema allows. */
export function typesOf(schema: Schema): Set<string> {
  const alternatives = schema.anyOf?.flatMap((one) => [...typesOf(one)]) ?? []
  return new Set([...[schema.type ?? []].flat(), ...alternatives])
}
