// Limits the requests of keys and workspaces, by token buckets in the memory of this process.
import type { Context } from 'hono'
import { LRUCache } from 'lru-cache'
import type { LimitBook } from '../../commands/limits/book.ts'
import type { ApiEnv } from './env.ts'
import { ApiError } from './errors.ts'
import type { RequestKey } from './keyCache.ts'
import { type Bucket, type BucketSize, fullBucket, refilled, secondsUntil } from './tokenBucket.ts'

/** More limited keys and workspaces than anybody sets by hand. One that is dropped begins with a full bucket. */
const BUCKETS_MAX = 100_000

/** Counts a request of a key. @throws ApiError 429 `rate_limited` */
export type RequestLimit = (
  c: Context<ApiEnv>,
  key: Pick<RequestKey, 'id' | 'workspace_id'>,
) => Promise<void>

interface Asked {
  subject: string
  name: 'API key' | 'workspace'
  size: BucketSize
  bucket: Bucket
}

/**
 * Makes the limit of a process. A request needs a token of its workspace's bucket and one of its key's, where these are limited,
 * and takes neither when one is empty. The headers of every answer tell of the bucket that has less left. Each process
 * counts for itself: so many processes let through so many times as much.
 */
export function createRequestLimit(now: () => Date, book: LimitBook): RequestLimit {
  const buckets = new LRUCache<string, Bucket>({ max: BUCKETS_MAX })

  const bucketOf = (subject: string, name: Asked['name'], at: number): Asked | undefined => {
    const limit = book.of(subject)
    if (!limit || limit.per_second === null) return undefined
    const perSecond = limit.per_second
    const size = { perSecond, burst: limit.burst ?? Math.max(1, Math.ceil(perSecond)) }
    const known = buckets.get(subject)
    const bucket = known ? refilled(known, size, at) : fullBucket(size, at)
    return { subject, name, size, bucket }
  }

  return async (c, key) => {
    await book.fresh()
    const at = now().getTime()
    const asked = [
      bucketOf(key.workspace_id, 'workspace', at),
      bucketOf(key.id, 'API key', at),
    ].filter((one) => one !== undefined)
    const [first] = asked
    if (!first) return
    const isAllowed = asked.every(({ bucket }) => bucket.tokens >= 1)
    for (const { subject, bucket } of asked) {
      if (isAllowed) bucket.tokens -= 1
      buckets.set(subject, bucket)
    }
    const least = asked.reduce((a, b) => (b.bucket.tokens < a.bucket.tokens ? b : a), first)
    const { size, bucket, name } = least
    c.header('ratelimit-limit', String(size.burst))
    c.header('ratelimit-remaining', String(Math.floor(bucket.tokens)))
    c.header('ratelimit-reset', String(secondsUntil(size.burst, bucket, size)))
    if (isAllowed) return
    const wait_s = Math.max(1, ...asked.map((one) => secondsUntil(1, one.bucket, one.size)))
    const text = `This ${name} may make ${size.perSecond} requests a second, ${size.burst} at once; try again in ${wait_s} s`
    throw new ApiError(429, 'rate_limited', text, { headers: { 'Retry-After': String(wait_s) } })
  }
}
