// Limits the requests of keys and workspaces, by token buckets in the memory of this process.
import { LRUCache } from 'lru-cache'
import {
  type Bucket,
  type BucketSize,
  fullBucket,
  refilled,
  secondsUntil,
} from '../../rules/tokenBucket.ts'
import type { RequestKey } from '../api-keys/keyCache.ts'
import type { LimitBook } from './book.ts'

/** More limited keys and workspaces than anybody sets by hand. One that is dropped begins with a full bucket. */
const BUCKETS_MAX = 100_000

/** What the bucket says that has less left, of those that a request needs. */
export interface CountedRequest {
  /** Requests at once. */
  limit: number
  /** Requests that may come now. */
  remaining: number
  /** Seconds until as many as `limit` may. */
  reset_s: number
  /** Why this one may not; null: it may. */
  refused: { text: string; wait_s: number } | null
}

/** Counts a request of a key. @returns null where nothing limits it */
export type CountRequest = (
  key: Pick<RequestKey, 'id' | 'workspace_id'>,
) => Promise<CountedRequest | null>

interface Asked {
  subject: string
  name: 'API key' | 'workspace'
  size: BucketSize
  bucket: Bucket
}

/**
 * Makes the limit of a process. A request needs a token of its workspace's bucket and one of its key's, where these are limited,
 * and takes neither when one is empty. Each process counts for itself: so many processes let through so many times as much.
 */
export function createRequestCount(now: () => Date, book: LimitBook): CountRequest {
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

  return async (key) => {
    await book.fresh()
    const at = now().getTime()
    const asked = [
      bucketOf(key.workspace_id, 'workspace', at),
      bucketOf(key.id, 'API key', at),
    ].filter((one) => one !== undefined)
    const [first] = asked
    if (!first) return null
    const isAllowed = asked.every(({ bucket }) => bucket.tokens >= 1)
    for (const { subject, bucket } of asked) {
      if (isAllowed) bucket.tokens -= 1
      buckets.set(subject, bucket)
    }
    const least = asked.reduce((a, b) => (b.bucket.tokens < a.bucket.tokens ? b : a), first)
    const { size, bucket } = least
    return {
      limit: size.burst,
      remaining: Math.floor(bucket.tokens),
      reset_s: secondsUntil(size.burst, bucket, size),
      refused: isAllowed ? null : refusalOf(least, asked),
    }
  }
}

function refusalOf({ name, size }: Asked, asked: readonly Asked[]): CountedRequest['refused'] {
  const wait_s = Math.max(1, ...asked.map((one) => secondsUntil(1, one.bucket, one.size)))
  const text = `This ${name} may make ${size.perSecond} requests a second, ${size.burst} at once; try again in ${wait_s} s`
  return { text, wait_s }
}
