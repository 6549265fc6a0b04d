// A failure that a client is told of, and the usual ones.
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ErrorCode } from './errorCodes.ts'

/** The key of an error's text: shape A of the contract is `message`, shape B `error`. */
export type ErrorShape = 'message' | 'error'

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
