// Finds the key of a request before anything else of it is looked at (spec, Authentication).
import type { MiddlewareHandler } from 'hono'
import { hashApiKey } from '../../commands/api-keys/token.ts'
import { findApiKeyByHash } from '../../db/api-keys/reads.ts'
import { updateApiKeyUsed } from '../../db/api-keys/writes.ts'
import type { KeyPermission } from '../../db/schema.ts'
import type { ApiDeps, ApiEnv, RequestKey } from './env.ts'
import { ApiError } from './errors.ts'

/** How long a key that was found is believed; another process's revocation takes effect after it. */
const CACHE_MS = 1_000
const CACHE_KEYS_MAX = 10_000
const USED_EVERY_MS = 60_000

interface Cached {
  key: RequestKey
  untilMs: number
}

/** Keys found lately, by hash. Revoking through this process empties it. */
export function createKeyCache() {
  const cache = new Map<string, Cached>()
  return {
    get(hash: string, nowMs: number): RequestKey | undefined {
      const hit = cache.get(hash)
      return hit && hit.untilMs > nowMs ? hit.key : undefined
    },
    set(hash: string, key: RequestKey, nowMs: number) {
      if (cache.size >= CACHE_KEYS_MAX) cache.clear()
      cache.set(hash, { key, untilMs: nowMs + CACHE_MS })
    },
    clear: () => cache.clear(),
  }
}

export type KeyCache = ReturnType<typeof createKeyCache>

/** What each permission may do: `sending_access` all of emails alone, `events_only` only post events. */
function isAllowed(permission: KeyPermission, method: string, path: string): boolean {
  switch (permission) {
    case 'full_access':
      return true
    case 'read_only':
      return method === 'GET' || method === 'HEAD'
    case 'sending_access':
      return path === '/v1/emails' || path.startsWith('/v1/emails/')
    case 'events_only':
      return path === '/v1/automation/events' && method === 'POST'
  }
}

/**
 * Middleware for every `/v1` path.
 * @throws ApiError 403 `invalid_authorization_header`, `invalid_api_key` or `restricted_api_key`
 */
export function authenticate(
  deps: Pick<ApiDeps, 'db' | 'now' | 'log'>,
  cache: KeyCache,
): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const token = /^Bearer +(\S.*)$/i.exec(c.req.header('authorization') ?? '')?.[1]?.trim()
    if (!token) {
      const text = 'Send the header "Authorization: Bearer <API_KEY>"'
      throw new ApiError(403, 'invalid_authorization_header', text)
    }
    const hash = hashApiKey(token)
    const cacheKey = hash.toString('latin1')
    const now = deps.now()
    let key = cache.get(cacheKey, now.getTime())
    if (!key) {
      const row = await findApiKeyByHash(deps.db, hash, now)
      if (!row) throw new ApiError(403, 'invalid_api_key', 'The API key is not valid')
      const { last_used_at, ...found } = row
      key = found
      cache.set(cacheKey, key, now.getTime())
      if (!last_used_at || now.getTime() - last_used_at.getTime() > USED_EVERY_MS) {
        updateApiKeyUsed(deps.db, key.id, now).catch((err) =>
          deps.log.warn({ err }, 'last use of a key was not noted'),
        )
      }
    }
    if (!isAllowed(key.permission, c.req.method, c.req.path)) {
      throw new ApiError(403, 'restricted_api_key', 'This API key may not do that')
    }
    c.set('key', key)
    c.set('workspaceId', key.workspace_id)
    await next()
  }
}
