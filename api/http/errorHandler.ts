// Turns every error into an answer, in one of the two shapes of the contract.
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { type BusyReason, busyReason, isUnavailable } from '../../db/failures.ts'
import { ClientGone } from '../../db/shares.ts'
import { TemporalUnavailable } from '../../runtime/temporalReads.ts'
import type { ApiDeps, ApiEnv } from './env.ts'
import { ApiError, type ErrorShape, invalidJson, unsupportedMediaType } from './errors.ts'

const RETRY_AFTER_S = '5'

/** The texts for a database that is there and did not do it in time. Nothing was changed then. */
const busyTexts: Record<BusyReason, string> = {
  locked: 'Another request holds what this one needs; nothing was changed; try again shortly',
  crowded:
    'Too many requests like this one wait for the database; nothing was changed; try again shortly',
  slow: 'This took the database too long; nothing was changed; try again shortly',
}

const serviceUnavailable = (text: string) =>
  new ApiError(503, 'service_unavailable', text, { headers: { 'Retry-After': RETRY_AFTER_S } })

/**
 * The answer for an error, in the shape of the operation or its mount. Public routes and every 403 have shape A.
 */
function errorResponse(c: Context<ApiEnv>, err: ApiError): Response {
  const shape: ErrorShape = err.status === 403 ? 'message' : (c.var.errors ?? 'message')
  const body: Record<string, unknown> = { [shape]: err.message }
  if (err.code !== null) body['code'] = err.code
  Object.assign(body, err.extra)
  if (err.status >= 500 && err.code !== null) body['request_id'] = c.var.requestId
  return c.json(body, err.status, err.headers)
}

/** Makes the error handler. An unexpected error is logged, and its text is not shown. */
export function createErrorHandler(deps: Pick<ApiDeps, 'log'>) {
  return (err: Error, c: Context<ApiEnv>): Response => {
    if (err instanceof ApiError) return errorResponse(c, err)
    const known = err instanceof HTTPException ? fromHttpException(err, c) : null
    if (known) return errorResponse(c, known)
    const requestId = c.var.requestId
    if (err instanceof ClientGone) {
      // Nobody reads this answer. Its cause may be the connection that we closed, which is no outage.
      deps.log.debug({ request_id: requestId }, 'the client went away')
      return errorResponse(c, serviceUnavailable('The client went away'))
    }
    if (isUnavailable(err) || err instanceof TemporalUnavailable) {
      deps.log.warn({ err, request_id: requestId }, 'a server behind the API did not answer')
      const part = err instanceof TemporalUnavailable ? 'Temporal' : 'the database'
      return errorResponse(c, serviceUnavailable(`Cannot reach ${part} now; try again shortly`))
    }
    const busy = busyReason(err)
    if (busy) {
      deps.log.warn({ err, request_id: requestId }, 'the database was busy for too long')
      return errorResponse(c, serviceUnavailable(busyTexts[busy]))
    }
    deps.log.error({ err, request_id: requestId, path: c.req.routePath }, 'request failed')
    if (c.var.failureText) {
      const details = `Unexpected failure; request ${requestId}`
      return errorResponse(c, new ApiError(500, null, c.var.failureText, { extra: { details } }))
    }
    return errorResponse(c, new ApiError(500, 'internal_error', 'Something failed on our side'))
  }
}

/** Errors that Hono throws while it reads a body; null for others, which are faults of this service. */
function fromHttpException(err: HTTPException, c: Context<ApiEnv>): ApiError | null {
  // Hono's validators: malformed JSON, a body that it could not read, or a missing body with another media type.
  if (err.status === 400) return invalidJson()
  if (err.status === 415) return unsupportedMediaType(c.req.header('content-type'))
  return null
}
