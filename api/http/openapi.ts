// The Hono app type of every route file, the answer to a body that does not fit, and the shared response schemas.
import { OpenAPIHono, z } from '@hono/zod-openapi'
import type { ApiEnv } from './env.ts'
import { errorCodes } from './errorCodes.ts'
import { badRequest, invalidJson } from './errors.ts'

const ErrorBody = z
  .object({
    message: z.string().optional(),
    error: z.string().optional(),
    code: z
      .enum(errorCodes)
      .optional()
      .openapi({ description: 'Absent where the text alone is the contract' }),
    details: z.string().optional(),
    request_id: z.string().optional().openapi({ description: 'On a 5xx' }),
    problems: z
      .array(
        z.object({
          node_id: z.string().nullable(),
          path: z.string(),
          message: z.string(),
          code: z.string(),
        }),
      )
      .optional()
      .openapi({ description: 'With `invalid_design`: all of them' }),
    field: z.string().optional().openapi({ description: 'With `invalid_template`' }),
    line: z.int().optional().openapi({ description: 'With `invalid_template`, from 1' }),
    column: z.int().optional().openapi({ description: 'With `invalid_template`, from 1' }),
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

/** Whether a body of that content type is read as JSON; the validators below take the same ones. */
export function isJsonType(contentType: string | undefined): boolean {
  const mediaType = (contentType ?? '').split(';')[0] ?? ''
  return /^application\/([\w.-]+\+)?json$/i.test(mediaType.trim())
}

/** An app for one resource; what does not fit its schemas is a 400 that names the field. */
export function createRoutes() {
  return new OpenAPIHono<ApiEnv>({
    defaultHook: (result, c) => {
      if (result.success) return
      // No body at all came: the validator took it for `{}`.
      if (result.target === 'json' && !isJsonType(c.req.header('content-type'))) throw invalidJson()
      throw badRequest(issueText(result.error))
    },
  })
}
