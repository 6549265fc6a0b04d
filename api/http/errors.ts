// The error that becomes an answer, and common errors.
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { addressAdvice } from '../../rules/asciiDomains.ts'
import { shown } from '../../rules/shown.ts'
import type { ErrorCode } from './errorCodes.ts'

/** The key of an error's text: shape A of the contract is `message`, shape B `error`. */
export type ErrorShape = 'message' | 'error'

/** An error that the client sees. `code` is null if the contract's body has none. */
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

export const badRequest = (
  message: string,
  code: ErrorCode | null = 'invalid_request',
  extra: Record<string, unknown> = {},
) => new ApiError(400, code, message, { extra })
export const notFound = (message: string, code: ErrorCode | null = 'not_found') =>
  new ApiError(404, code, message)
export const conflict = (message: string, code: ErrorCode) => new ApiError(409, code, message)
export const invalidCursor = (cursor: string) =>
  badRequest(
    `cursor must be one that this list gave for the same filters, not ${shown(cursor)}`,
    'invalid_cursor',
  )
/** No address in a path, for operations without a text of the contract. */
export const emailRequired = () => badRequest('Email is required', 'email_required')
/** A malformed address in a path, for operations without a text of the contract. */
export const invalidEmail = (given: string) =>
  badRequest(
    `email in the path must be an address such as ada@example.com${addressAdvice(given)}, not ${shown(given)}`,
    'invalid_email',
  )
export const invalidJson = (code: ErrorCode | null = 'invalid_json') =>
  new ApiError(400, code, 'Invalid JSON payload')

export const unsupportedEncoding = (encoding: string) =>
  new ApiError(
    415,
    'unsupported_media_type',
    `Content-Encoding must be absent, not ${shown(encoding)}: bodies are sent as they are`,
  )

export const unsupportedMediaType = (contentType: string | undefined) =>
  new ApiError(
    415,
    'unsupported_media_type',
    `Content-Type must be application/json, not ${shown(contentType)}`,
  )
