// Turns every error into an answer, in one of the two shapes of the contract.
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { KeyTaken } from '../../commands/once.ts'
import { busyReason, isUnavailable } from '../../db/failures.ts'
import { ClientGone } from '../../db/shares.ts'
import { TemporalUnavailable } from '../../runtime/temporalReads.ts'
import type { ApiDeps, ApiEnv } from './env.ts'
import { ApiError, type ErrorShape, invalidJson, unsupportedMediaType } from './errors.ts'
import { keyInProgress } from './idempotency.ts'
import { Refused, type RefusedReason, serviceUnavailable } from './unavailable.ts'

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

/**
 * Makes the error handler. An unexpected error is logged, and its text is not shown. Every 503 and 408 is counted, and
 * logged with its reason and whose request it was.
 */
export function createErrorHandler(deps: Pick<ApiDeps, 'log' | 'apiMetrics'>) {
  return (err: Error, c: Context<ApiEnv>): Response => {
    const refused = toRefused(err)
    if (refused) {
      tell(deps, c, refused, err)
      return errorResponse(c, refused)
    }
    if (err instanceof ApiError) return errorResponse(c, err)
    // Unless the answer of that request is there already: then it takes the place of this one.
    if (err instanceof KeyTaken) return errorResponse(c, keyInProgress())
    const known = err instanceof HTTPException ? fromHttpException(err, c) : null
    if (known) return errorResponse(c, known)
    const requestId = c.var.requestId
    deps.log.error({ err, request_id: requestId, path: c.req.routePath }, 'request failed')
    if (c.var.failureText) {
      const details = `Unexpected failure; request ${requestId}`
      return errorResponse(c, new ApiError(500, null, c.var.failureText, { extra: { details } }))
    }
    return errorResponse(c, new ApiError(500, 'internal_error', 'Something failed on our side'))
  }
}

/** The answer to what may succeed later; null for all other errors. */
function toRefused(err: Error): Refused | null {
  if (err instanceof Refused) return err
  if (err instanceof ApiError) return null
  const reason = reasonOf(err)
  return reason && serviceUnavailable(reason)
}

function reasonOf(err: Error) {
  // First, since its cause may be the connection that we closed, which is no outage.
  if (err instanceof ClientGone) return 'client_gone'
  if (isUnavailable(err)) return 'database_away'
  if (err instanceof TemporalUnavailable) return 'temporal_away'
  return busyReason(err)
}

/** What the log says of servers that are away; other reasons share one line. */
const logTexts: Partial<Record<RefusedReason, string>> = {
  database_away: 'a server behind the API did not answer',
  temporal_away: 'a server behind the API did not answer',
}

function tell(
  { log, apiMetrics }: Pick<ApiDeps, 'log' | 'apiMetrics'>,
  c: Context<ApiEnv>,
  refused: Refused,
  cause: Error,
): void {
  const { reason } = refused
  apiMetrics.refused(reason)
  const facts = { reason, workspace_id: c.var.workspaceId, request_id: c.var.requestId }
  // Nobody reads that answer, and nothing is wrong with the service.
  if (reason === 'client_gone') log.debug(facts, 'the client went away')
  else if (cause === refused) log.warn(facts, 'a request was refused for now')
  else log.warn({ ...facts, err: cause }, logTexts[reason] ?? 'the database was busy for too long')
}

/** Errors that Hono throws while it reads a body; null for others, which are faults of this service. */
function fromHttpException(err: HTTPException, c: Context<ApiEnv>): ApiError | null {
  // Hono's validators: malformed JSON, a body that it could not read, or a missing body with another media type.
  if (err.status === 400) return invalidJson()
  if (err.status === 415) return unsupportedMediaType(c.req.header('content-type'))
  return null
}
