// Refuses bodies that are not sent as JSON, or compressed, before they are read.
import type { Context } from 'hono'
import type { ApiEnv } from '../env.ts'
import { unsupportedEncoding, unsupportedMediaType } from '../errors.ts'
import { isJsonType } from '../openapi.ts'

const JSON_TYPE = 'application/json'

/** Requires the media type JSON, and writes it into the request as the routes know it. @throws ApiError 415 for a body of another type, or one that is compressed */
export function requireJson(c: Context<ApiEnv>): void {
  const hasBody =
    c.req.raw.headers.has('transfer-encoding') || Number(c.req.header('content-length') ?? 0) > 0
  const contentType = c.req.header('content-type')
  if (!hasBody) return
  if (!isJsonType(contentType)) throw unsupportedMediaType(contentType)
  // Some clients compress by themselves; they would be told that their JSON is wrong.
  const encoding = c.req.header('content-encoding')
  if (encoding && encoding.toLowerCase() !== 'identity') throw unsupportedEncoding(encoding)
  // The validators of routes know fewer forms of it, and would answer 415 to the others.
  if (contentType !== JSON_TYPE) c.req.raw.headers.set('content-type', JSON_TYPE)
}
