// Refuses bodies that are not sent as JSON, before they are read.
import type { Context } from 'hono'
import type { ApiEnv } from '../env.ts'
import { unsupportedMediaType } from '../errors.ts'
import { isJsonType } from '../openapi.ts'

/** Requires the media type JSON. @throws ApiError 415 for a body of another type */
export function requireJson(c: Context<ApiEnv>): void {
  const hasBody =
    c.req.raw.headers.has('transfer-encoding') || Number(c.req.header('content-length') ?? 0) > 0
  const contentType = c.req.header('content-type')
  if (hasBody && !isJsonType(contentType)) throw unsupportedMediaType(contentType)
}
