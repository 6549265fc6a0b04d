// Enforces the rules of a route before its operation: key, permission, media type, size, in this order.

import type { MiddlewareHandler } from 'hono'
import { mayCall, permittedBy } from '../../rules/permissions.ts'
import { createKeyFinder } from './auth.ts'
import { createBodyLimit, requireJson } from './bodies.ts'
import type { ApiDeps, ApiEnv } from './env.ts'
import { ApiError } from './errors.ts'
import { type KeyCache, reachOf } from './keyCache.ts'
import { rulesOf } from './operation.ts'

/**
 * Middleware for every `/v1` path, also for unknown ones.
 * @throws ApiError 403 for the key, `restricted_api_key` for its permission, 415, 413
 */
export function createGuard(
  deps: Pick<ApiDeps, 'db' | 'now' | 'log' | 'wake'>,
  keyCache: KeyCache,
): MiddlewareHandler<ApiEnv> {
  const findKey = createKeyFinder(deps, keyCache)
  const limitBody = createBodyLimit()
  return async (c, next) => {
    const rules = rulesOf(c)
    c.set('errors', rules.errors)
    if (rules.permission !== null) {
      const key = await findKey(c.req.header('authorization'))
      if (!mayCall(key.permission, rules.permission)) {
        const text = `This API key has the permission ${key.permission}; this needs ${permittedBy(rules.permission).join(' or ')}`
        throw new ApiError(403, 'restricted_api_key', text)
      }
      if (key.domain_id !== null && rules.bound === 'refused') {
        const text = 'This API key is for one domain; this needs a key for the whole workspace'
        throw new ApiError(403, 'restricted_api_key', text)
      }
      c.set('key', key)
      c.set('workspaceId', key.workspace_id)
      c.set('reach', reachOf(key))
    }
    requireJson(c)
    if (rules.failureText !== undefined) c.set('failureText', rules.failureText)
    return limitBody(c, next, rules.bodyBytesMax)
  }
}
