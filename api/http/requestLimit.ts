// Limits the requests of keys and workspaces, and tells every answer how many are left.
import type { Context } from 'hono'
import type { RequestKey } from '../../commands/api-keys/keyCache.ts'
import type { LimitBook } from '../../commands/limits/book.ts'
import { createRequestCount } from '../../commands/limits/requests.ts'
import type { ApiEnv } from './env.ts'
import { ApiError } from './errors.ts'

/** Counts a request of a key. @throws ApiError 429 `rate_limited` */
export type RequestLimit = (
  c: Context<ApiEnv>,
  key: Pick<RequestKey, 'id' | 'workspace_id'>,
) => Promise<void>

/** The headers of every answer tell of the bucket that has less left. */
export function createRequestLimit(now: () => Date, book: LimitBook): RequestLimit {
  const countRequest = createRequestCount(now, book)
  return async (c, key) => {
    const counted = await countRequest(key)
    if (!counted) return
    c.header('ratelimit-limit', String(counted.limit))
    c.header('ratelimit-remaining', String(counted.remaining))
    c.header('ratelimit-reset', String(counted.reset_s))
    const { refused } = counted
    if (!refused) return
    const headers = { 'Retry-After': String(refused.wait_s) }
    throw new ApiError(429, 'rate_limited', refused.text, { headers })
  }
}
