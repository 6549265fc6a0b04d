// Puts the interface description together: what the routes say, their examples, and each as curl and TypeScript.
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { ApiEnv } from './env.ts'
import { guide, tagGroups } from './guide.ts'
import { EXAMPLE, type OperationExample } from './operation.ts'
import { samplesOf } from './samples.ts'

type Document = ReturnType<OpenAPIHono<ApiEnv>['getOpenAPI31Document']>

interface Parameter {
  name: string
  in: string
  example?: unknown
}

interface Media {
  example?: unknown
}

/** The part of an operation that examples go into. */
interface Operation {
  [EXAMPLE]?: OperationExample
  parameters?: Parameter[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { content?: Record<string, Media> }>
}

const JSON_TYPE = 'application/json'

/**
 * The whole description (OpenAPI 3.1) of an application with all its routes.
 * @param baseUrl where callers reach it, without a slash at the end
 */
export function describeApi(app: OpenAPIHono<ApiEnv>, baseUrl: string): Document {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, made by `npm run key:create`.',
  })
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'Dripline', version: '1.0.0', description: guide },
    servers: [{ url: baseUrl }],
    security: [{ bearer: [] }],
    tags: tagGroups,
  })
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(methods)) {
      addExample(baseUrl, method, path, operation as unknown as Operation)
    }
  }
  return document
}

function addExample(baseUrl: string, method: string, path: string, operation: Operation): void {
  const { [EXAMPLE]: example = {} } = operation
  delete operation[EXAMPLE]
  const { params = {}, query = {}, body, answer } = example
  for (const parameter of operation.parameters ?? []) {
    const value = (parameter.in === 'path' ? params : query)[parameter.name]
    if (value !== undefined) parameter.example = value
  }
  const asked = operation.requestBody?.content[JSON_TYPE]
  if (asked && body !== undefined) asked.example = body
  for (const [status, { content }] of Object.entries(operation.responses)) {
    const answered = status.startsWith('2') ? content?.[JSON_TYPE] : undefined
    if (answered && answer !== undefined) answered.example = answer
  }
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? `{${name}}`),
  )
  const search = new URLSearchParams(query).toString()
  const url = `${baseUrl}${filled}${search && `?${search}`}`
  const isFile = Object.entries(operation.responses).some(
    ([status, { content }]) => status.startsWith('2') && content?.['text/csv'] !== undefined,
  )
  const request = {
    method: method.toUpperCase(),
    url,
    isFile,
    ...(body === undefined ? {} : { body }),
  }
  Object.assign(operation, { 'x-codeSamples': samplesOf(request) })
}
