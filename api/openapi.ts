// The Hono app type of every route file, the answer to a body that does not fit, and the shared response schemas.
import { OpenAPIHono, z } from '@hono/zod-openapi'
import type { ApiEnv } from './deps.ts'
import { badRequest } from './errors.ts'

export const ErrorBody = z
  .object({
    message: z.string().optional(),
    error: z.string().optional(),
    code: z.string().optional(),
    details: z.string().optional(),
    request_id: z.string().optional(),
  })
  .openapi('Error', { description: 'Shape A carries `message`, shape B `error`.' })

const texts: Record<number, string> = {
  400: 'The request is wrong; the text says where',
  403: 'The key is missing, not valid, or may not do that',
  404: 'There is no such thing in this workspace',
  405: 'This path has no such method',
  409: 'The state of the thing does not allow it',
  413: 'The body is too large',
  415: 'The body is not JSON',
  500: 'Something failed on our side',
  503: 'A server behind the API cannot be reached; try again after Retry-After',
}

/** The error answers of a route, for its OpenAPI entry; 403, 405, 500 and 503 are on every one. */
export function errorResponses(...statuses: (400 | 404 | 409 | 413 | 415)[]) {
  return Object.fromEntries(
    [...statuses, 403, 405, 500, 503].map((status) => [
      status,
      { description: texts[status] ?? '', content: { 'application/json': { schema: ErrorBody } } },
    ]),
  )
}

/** One JSON answer of a route's OpenAPI entry. */
export function jsonBody<T extends z.ZodType>(schema: T, description: string) {
  return { description, content: { 'application/json': { schema } } }
}

/** A required JSON request body; without `required` a missing Content-Type would skip the check. */
export function jsonRequest<T extends z.ZodType>(schema: T) {
  return { required: true, content: { 'application/json': { schema } } }
}

/** The first fault that a schema found, with the field that it is in. */
export function issueText(error: { issues: { path: PropertyKey[]; message: string }[] }): string {
  const issue = error.issues[0]
  const field = issue?.path.join('.')
  return field ? `${field}: ${issue?.message}` : (issue?.message ?? 'Invalid request')
}

/** An app for one resource; what does not fit its schemas is a 400 that names the field. */
export function createRoutes() {
  return new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (!result.success) throw badRequest(issueText(result.error))
    },
  })
}
