// Which methods a path has, for the 405 of a path that is known under another method.
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { ApiEnv } from './env.ts'

/** Looks a path up among the registered routes; empty when no route has it. Call after the last route. */
export function methodsOf(app: OpenAPIHono<ApiEnv>): (path: string) => string[] {
  const known = [...new Set(app.routes.map(({ method }) => method))].filter((one) => one !== 'ALL')
  return (path) => {
    const methods = known.filter((method) =>
      app.router.match(method, path)[0].some(([[, route]]) => route.method !== 'ALL'),
    )
    return (methods.includes('GET') ? [...methods, 'HEAD'] : methods).sort()
  }
}
