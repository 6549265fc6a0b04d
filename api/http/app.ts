// Builds the whole HTTP application: rules that hold for every request, then the resources.

import { randomUUID } from 'node:crypto'
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono/types'
import { limits } from '../../rules/limits.ts'
import { mountPublic, mountV1 } from '../routes.ts'
import type { ApiDeps, ApiEnv } from './env.ts'
import { createErrorHandler } from './errorHandler.ts'
import { ApiError, notFound } from './errors.ts'
import { createGuard } from './guard.ts'
import { createKeyCache } from './keyCache.ts'
import { methodsOf } from './methods.ts'
import { createRoutes } from './openapi.ts'
import { mountMark } from './operation.ts'

const OPENAPI_PATH = '/v1/openapi.json'

const requestId: MiddlewareHandler<ApiEnv> = async (c, next) => {
  const given = c.req.header('x-request-id') ?? ''
  const valid = given.length <= limits.requestIdCharsMax && /^[\x21-\x7e]+$/.test(given)
  const id = valid ? given : `req_${randomUUID()}`
  c.set('requestId', id)
  c.header('X-Request-Id', id)
  await next()
}

/**
 * The application over its dependencies; starts nothing and listens to nothing. What it remembers of keys is its
 * own: a command that revokes some has them forgotten.
 */
export function createApp(given: Omit<ApiDeps, 'keysRevoked'>): OpenAPIHono<ApiEnv> {
  const keyCache = createKeyCache(given.now)
  const deps: ApiDeps = { ...given, keysRevoked: keyCache.forget }
  const app = createRoutes()

  app.onError(createErrorHandler(deps))
  app.use(requestId)
  mountPublic(app, deps)
  app.use('/v1/*', createGuard(deps, keyCache))
  app.use(OPENAPI_PATH, mountMark({ permission: null, errors: 'message' }))
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
  const allowed = methodsOf(app)
  app.notFound((c) => {
    const methods = allowed(c.req.path)
    if (methods.length === 0) throw notFound(`No route ${c.req.method} ${c.req.path}`)
    throw new ApiError(405, 'method_not_allowed', `Use ${methods.join(', ')} here`, {
      headers: { Allow: methods.join(', ') },
    })
  })
  return app
}
