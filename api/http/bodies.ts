// Checks of a body before anything reads it: its media type and its size.

import type { Context, MiddlewareHandler, Next } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { ApiEnv } from './env.ts'
import { ApiError, unsupportedMediaType } from './errors.ts'
import { isJsonType } from './openapi.ts'

/** Requires the media type JSON. @throws ApiError 415 for a body of another type */
export function requireJson(c: Context<ApiEnv>): void {
  const hasBody =
    c.req.raw.headers.has('transfer-encoding') || Number(c.req.header('content-length') ?? 0) > 0
  const contentType = c.req.header('content-type')
  if (hasBody && !isJsonType(contentType)) throw unsupportedMediaType(contentType)
}

/**
 * Makes a function that limits the size of a body. A body without a Content-Length is counted while it arrives.
 */
export function createBodyLimit() {
  const counters = new Map<number, MiddlewareHandler>()
  const counterOf = (bytes: number) => {
    const counter =
      counters.get(bytes) ?? bodyLimit({ maxSize: bytes, onError: () => tooLarge(bytes) })
    counters.set(bytes, counter)
    return counter
  }
  /** @throws ApiError 413 `body_too_large` */
  return (c: Context<ApiEnv>, next: Next, bytes: number): ReturnType<MiddlewareHandler> => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next()
    // Counting needs the body as a web stream, which is expensive, so a Content-Length is preferred.
    const stated = c.req.header('transfer-encoding') ? undefined : c.req.header('content-length')
    if (stated === undefined) return counterOf(bytes)(c, next)
    return Number(stated) > bytes ? tooLarge(bytes) : next()
  }
}

function tooLarge(bytes: number): never {
  throw new ApiError(413, 'body_too_large', `The body must not exceed ${bytes} bytes`)
}
