// The three tiers of errors that a client can see, in the two shapes of the contract.
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { isUnavailable } from '../../db/failures.ts'
import { TemporalUnavailable } from '../../runtime/temporalReads.ts'
import type { ApiDeps, ApiEnv } from './env.ts'
import { ApiError, type ErrorShape, invalidJson, unsupportedMediaType } from './errors.ts'

const RETRY_AFTER_S = '5'

/** In the shape of the operation, or of its mount; what is public has none, and a 403 is always shape A. */
function errorResponse(c: Context<ApiEnv>, err: ApiError): Response {
  const shape: ErrorShape = err.status === 403 ? 'message' : (c.var.errors ?? 'message')
  const body: Record<string, unknown> = { [shape]: err.message }
  if (err.code !== null) body['code'] = err.code
  Object.assign(body, err.extra)
  if (err.status >= 500 && err.code !== null) body['request_id'] = c.var.requestId
  return c.json(body, err.status, err.headers)
}

/** Turns any throw into an answer; what is not ours is logged and shown without its text. */
export function createErrorHandler(deps: Pick<ApiDeps, 'log'>) {
  return (err: Error, c: Context<ApiEnv>): Response => {
    if (err instanceof ApiError) return errorResponse(c, err)
    if (err instanceof HTTPException) return errorResponse(c, fromHttpException(err))
    const requestId = c.var.requestId
    if (isUnavailable(err) || err instanceof TemporalUnavailable) {
      deps.log.warn({ err, request_id: requestId }, 'a server behind the API did not answer')
      const part = err instanceof TemporalUnavailable ? 'Temporal' : 'the database'
      return errorResponse(
        c,
        new ApiError(503, 'service_unavailable', `Cannot reach ${part} now; try again shortly`, {
          headers: { 'Retry-After': RETRY_AFTER_S },
        }),
      )
    }
    deps.log.error({ err, request_id: requestId, path: c.req.routePath }, 'request failed')
    if (c.var.failureText) {
      const details = `Unexpected failure; request ${requestId}`
      return errorResponse(c, new ApiError(500, null, c.var.failureText, { extra: { details } }))
    }
    return errorResponse(c, new ApiError(500, 'internal_error', 'Something failed on our side'))
  }
}

function fromHttpException(err: HTTPException): ApiError {
  if (err.status === 413)
    return new ApiError(413, 'body_too_large', 'The request body is too large')
  // Hono's validators: malformed JSON or a body that it could not read, or no body under another media type.
  if (err.status === 400) return invalidJson()
  if (err.status === 415) return unsupportedMediaType()
  return new ApiError(err.status, 'http_error', err.message)
}
