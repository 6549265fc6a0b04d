// What is looked at of a body before anything reads it: that it calls itself JSON, and its size.

import type { Context, MiddlewareHandler, Next } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { ApiEnv } from './env.ts'
import { ApiError, unsupportedMediaType } from './errors.ts'
import { isJsonType } from './openapi.ts'

/** @throws ApiError 415 for a body that does not call itself JSON */
export function requireJson(c: Context<ApiEnv>): void {
  const hasBody =
    c.req.raw.headers.has('transfer-encoding') || Number(c.req.header('content-length') ?? 0) > 0
  if (hasBody && !isJsonType(c.req.header('content-type'))) throw unsupportedMediaType()
}

/** Goes on with a request unless its body is over so many bytes; one without a stated length is counted as it comes in. */
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
    // Counting opens the body as a web stream, which costs every request more than all else that is done here.
    const stated = c.req.header('transfer-encoding') ? undefined : c.req.header('content-length')
    if (stated === undefined) return counterOf(bytes)(c, next)
    return Number(stated) > bytes ? tooLarge(bytes) : next()
  }
}

function tooLarge(bytes: number): never {
  throw new ApiError(413, 'body_too_large', `The request body is larger than ${bytes} bytes`)
}
