// Every resource and where it is mounted.
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { ApiDeps, ApiEnv } from '../deps.ts'
import { apiKeyRoutes } from './apiKeys.ts'
import { healthRoutes } from './health.ts'

/** Reached without a key. */
export function mountPublic(app: OpenAPIHono<ApiEnv>, deps: ApiDeps): void {
  app.route('/', healthRoutes(deps))
}

export function mountV1(app: OpenAPIHono<ApiEnv>, deps: ApiDeps): void {
  app.route('/v1/api-keys', apiKeyRoutes(deps))
}
