// The three tiers of errors that a client can see, in the two shapes of the contract.
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { isUnavailable } from '../../db/failures.ts'
import { TemporalUnavailable } from '../../runtime/temporalReads.ts'
import type { ApiDeps, ApiEnv } from './env.ts'
import type { ErrorCode } from './errorCodes.ts'

/** A failure that the client caused or must know of. `code` is null where the contract's body has none. */
export class ApiError extends Error {
  readonly status: ContentfulStatusCode
  readonly code: ErrorCode | null
  /** Further keys of the body, e.g. `problems`. */
  readonly extra: Record<string, unknown>
  readonly headers: Record<string, string>

  constructor(
    status: ContentfulStatusCode,
    code: ErrorCode | null,
    message: string,
    more: { extra?: Record<string, unknown>; headers?: Record<string, string> } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.extra = more.extra ?? {}
    this.headers = more.headers ?? {}
  }
}

export const badRequest = (message: string, code: ErrorCode | null = 'invalid_request') =>
  new ApiError(400, code, message)
export const notFound = (message: string, code: ErrorCode | null = 'not_found') =>
  new ApiError(404, code, message)
export const conflict = (message: string, code: ErrorCode) => new ApiError(409, code, message)
export const invalidCursor = () =>
  new ApiError(400, 'invalid_cursor', 'The cursor is not valid here')
export const invalidJson = (code: ErrorCode | null = 'invalid_json') =>
  new ApiError(400, code, 'Invalid JSON payload')

export const unsupportedMediaType = () =>
  new ApiError(415, 'unsupported_media_type', 'Send the body as application/json')

const RETRY_AFTER_S = '5'

/** Shape B for these mounts, shape A for all others; a 403 is always shape A. */
function messageKey(path: string, status: number): 'message' | 'error' {
  if (status === 403) return 'message'
  return /^\/v1\/(workflows|executions|automation)(\/|$)/.test(path) ? 'error' : 'message'
}

export function errorResponse(c: Context<ApiEnv>, err: ApiError): Response {
  const body: Record<string, unknown> = { [messageKey(c.req.path, err.status)]: err.message }
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
