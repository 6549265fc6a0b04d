// Builds the whole HTTP application: rules that hold for every request, then the resources.

import { randomUUID } from 'node:crypto'
import type { OpenAPIHono } from '@hono/zod-openapi'
import { bodyLimit } from 'hono/body-limit'
import type { MiddlewareHandler } from 'hono/types'
import { limits } from '../../rules/limits.ts'
import { mountPublic, mountV1 } from '../routes.ts'
import { authenticate } from './auth.ts'
import type { ApiDeps, ApiEnv } from './env.ts'
import { ApiError, createErrorHandler, notFound, unsupportedMediaType } from './errors.ts'
import { methodNotAllowed } from './methods.ts'
import { createRoutes, isJsonType } from './openapi.ts'

const OPENAPI_PATH = '/v1/openapi.json'

const requestId: MiddlewareHandler<ApiEnv> = async (c, next) => {
  const given = c.req.header('x-request-id') ?? ''
  const valid = given.length <= limits.requestIdCharsMax && /^[\x21-\x7e]+$/.test(given)
  const id = valid ? given : `req_${randomUUID()}`
  c.set('requestId', id)
  c.header('X-Request-Id', id)
  await next()
}

/** 415 for a body that does not call itself JSON, before anything reads it. */
const jsonOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  const hasBody =
    c.req.raw.headers.has('transfer-encoding') || Number(c.req.header('content-length') ?? 0) > 0
  if (hasBody && !isJsonType(c.req.header('content-type'))) {
    throw unsupportedMediaType()
  }
  await next()
}

/** 413 for a body over so many bytes; one without a stated length is counted while it comes in. */
function limitBody(bytes: number): MiddlewareHandler<ApiEnv> {
  const tooLarge = () => {
    throw new ApiError(413, 'body_too_large', `The request body is larger than ${bytes} bytes`)
  }
  const count = bodyLimit({ maxSize: bytes, onError: tooLarge })
  return async (c, next) => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next()
    // Counting opens the body as a web stream, which costs every request more than all else that is done here.
    const stated = c.req.header('transfer-encoding') ? undefined : c.req.header('content-length')
    if (stated === undefined) return count(c, next)
    return Number(stated) > bytes ? tooLarge() : next()
  }
}

/** The application over its dependencies; starts nothing and listens to nothing. */
export function createApp(deps: ApiDeps): OpenAPIHono<ApiEnv> {
  const app = createRoutes()
  const checkKey = authenticate(deps, deps.keyCache)
  const emailLimit = limitBody(limits.emailRequestBytesMax)
  const otherLimit = limitBody(limits.requestBytesMax)

  app.onError(createErrorHandler(deps))
  app.use(requestId)
  mountPublic(app, deps)
  app.use('/v1/*', async (c, next) => (c.req.path === OPENAPI_PATH ? next() : checkKey(c, next)))
  app.use('/v1/*', jsonOnly)
  app.use('/v1/*', (c, next) => (c.req.path === '/v1/emails' ? emailLimit : otherLimit)(c, next))
  mountV1(app, deps)

  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
  })
  app.doc31(OPENAPI_PATH, {
    openapi: '3.1.0',
    info: { title: 'Dripline', version: '1.0.0' },
    security: [{ bearer: [] }],
  })
  const allowed = methodNotAllowed(app)
  app.notFound((c) => {
    const methods = allowed(c.req.path)
    if (methods.length === 0) throw notFound(`No route ${c.req.method} ${c.req.path}`)
    throw new ApiError(405, 'method_not_allowed', `Use ${methods.join(', ')} here`, {
      headers: { Allow: methods.join(', ') },
    })
  })
  return app
}
