// The Hono app of every route file, the answer to an invalid request, and helpers to describe bodies.
import { OpenAPIHono, type z } from '@hono/zod-openapi'
import type { ApiEnv } from './env.ts'
import { badRequest, invalidJson } from './errors.ts'
import { issueText } from './issueText.ts'

/** One JSON answer of a route's OpenAPI entry. */
export function jsonBody<T extends z.ZodType>(schema: T, description: string) {
  return { description, content: { 'application/json': { schema } } }
}

/** A required JSON request body. Without `required` a request without a Content-Type would not be checked. */
export function jsonRequest<T extends z.ZodType>(schema: T) {
  return { required: true, content: { 'application/json': { schema } } }
}

/** Whether a content type is JSON. The guard lets the validators below see one of the forms that they know. */
export function isJsonType(contentType: string | undefined): boolean {
  const mediaType = (contentType ?? '').split(';')[0] ?? ''
  return /^application\/([\w.-]+\+)?json$/i.test(mediaType.trim())
}

/** Makes an app for one resource. A request that does not fit its schemas is a 400 that names the field. */
export function createRoutes() {
  return new OpenAPIHono<ApiEnv>({
    defaultHook: (result, c) => {
      if (result.success) return
      // There was no body: the validator has read it as `{}`.
      if (result.target === 'json' && !isJsonType(c.req.header('content-type'))) throw invalidJson()
      // Beside what is wrong stands what was checked, which the type does not tell.
      const { data } = result as { data?: unknown }
      throw badRequest(issueText(result.error, data))
    },
  })
}
