// Builds the whole HTTP application: rules for every request, then the resources.

import type { OpenAPIHono } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono/types'
import { createKeyCache } from '../../commands/api-keys/keyCache.ts'
import { createLimitBook } from '../../commands/limits/book.ts'
import { createDailyLimit } from '../../commands/limits/daily.ts'
import { shownText } from '../../rules/shown.ts'
import { mountPublic, mountV1 } from '../routes.ts'
import { type AnswerRules, answerRules } from './answers.ts'
import { type BodyRules, bodyRules } from './bodies/rules.ts'
import { describeApi } from './describe.ts'
import type { ApiDeps, ApiEnv, AppDeps } from './env.ts'
import { createErrorHandler } from './errorHandler.ts'
import { ApiError, notFound } from './errors.ts'
import { createGuard } from './guard.ts'
import { createIdempotency } from './idempotency.ts'
import { methodsOf } from './methods.ts'
import { createRoutes } from './openapi.ts'
import { mountMark } from './operation.ts'
import { requestIdOf } from './requestId.ts'
import { createRequestLimit } from './requestLimit.ts'
import { keyedScope, publicScope } from './scopes.ts'

const OPENAPI_PATH = '/v1/openapi.json'

const requestId: MiddlewareHandler<ApiEnv> = async (c, next) => {
  const id = requestIdOf(c.req.header('x-request-id'))
  c.set('requestId', id)
  c.header('X-Request-Id', id)
  await next()
}

/**
 * Makes the application from its dependencies. It does not listen. Each application has its own cache of API keys,
 * and a command that revokes keys clears them.
 * @param rules how bodies are read, and how much of answers may wait for their clients
 */
export function createApp(
  given: AppDeps,
  rules: BodyRules & AnswerRules = { ...bodyRules, ...answerRules },
): OpenAPIHono<ApiEnv> {
  const keyCache = createKeyCache(given.now, given.keyNews)
  const book = createLimitBook(given, (err) => given.log.warn({ err }, 'limits were not read'))
  given.keyNews?.onChange(book.forget)
  const daily = createDailyLimit(given, book)
  const deps: ApiDeps = { ...given, keysRevoked: keyCache.forget, daily }
  const app = createRoutes()

  app.onError(createErrorHandler(deps))
  app.use(requestId)
  app.use(publicScope)
  mountPublic(app, deps)
  app.use('/v1/*', createGuard(deps, keyCache, createRequestLimit(deps.now, book), rules))
  app.use('/v1/*', keyedScope)
  app.use('/v1/*', createIdempotency(deps))
  app.use(OPENAPI_PATH, mountMark({ permission: null, errors: 'message' }))
  mountV1(app, deps)

  // Made at the first request, because all routes are registered only then.
  // Bytes, since a text would be copied for each answer.
  let description: Uint8Array<ArrayBuffer> | undefined
  app.get(OPENAPI_PATH, (c) => {
    description ??= new TextEncoder().encode(
      JSON.stringify(describeApi(app, deps.config.publicUrl)),
    )
    return c.body(description, 200, { 'Content-Type': 'application/json' })
  })
  const allowed = methodsOf(app)
  app.notFound((c) => {
    const methods = allowed(c.req.path)
    if (methods.length === 0) throw notFound(`No route ${c.req.method} ${shownText(c.req.path)}`)
    const text = `The method must be one of ${methods.join(', ')} here, not ${c.req.method}`
    throw new ApiError(405, 'method_not_allowed', text, {
      headers: { Allow: methods.join(', ') },
    })
  })
  return app
}
