// Which methods a path has, for the 405 of a path that is known under another method.
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { ApiEnv } from './env.ts'

/** Looks a path up among the registered routes; empty when no route has it. Call after the last route. */
export function methodNotAllowed(app: OpenAPIHono<ApiEnv>): (path: string) => string[] {
  const known = app.routes
    .filter((route) => route.method !== 'ALL')
    .map((route) => ({ method: route.method, pattern: toPattern(route.path) }))
  return (path) => {
    const methods = new Set(known.filter((r) => r.pattern.test(path)).map((r) => r.method))
    if (methods.has('GET')) methods.add('HEAD')
    return [...methods].sort()
  }
}

function toPattern(path: string): RegExp {
  const escaped = path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace(/:[A-Za-z_]+(\\\{[^/]*\\\})?/g, '[^/]+')}$`)
}
