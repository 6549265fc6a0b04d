// Finds the methods of a path, for 405 answers.
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { ApiEnv } from './env.ts'

/**
 * Makes a function that returns the methods of a path; empty if no route has it. Call it after the last route was
 * added.
 */
export function methodsOf(app: OpenAPIHono<ApiEnv>): (path: string) => string[] {
  const known = [...new Set(app.routes.map(({ method }) => method))].filter((one) => one !== 'ALL')
  return (path) => {
    const methods = known.filter((method) =>
      app.router.match(method, path)[0].some(([[, route]]) => route.method !== 'ALL'),
    )
    return (methods.includes('GET') ? [...methods, 'HEAD'] : methods).sort()
  }
}
