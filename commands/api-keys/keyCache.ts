// A cache of API keys, so that most requests need no query for their key.

import { LRUCache } from 'lru-cache'
import type { Row } from '../../db/schema.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'

/** How long a key is cached while revocations by other processes are heard. */
const CACHE_MS = 60_000
/** How long while they are not: a revocation by another process takes effect after this time. */
const UNHEARD_MS = 1_000
const CACHE_KEYS_MAX = 10_000
/** How long a wrong key is known as one. A key cannot be tried before it is made, so nobody waits for this. */
const WRONG_MS = 10_000
const WRONG_KEYS_MAX = 10_000

/** The API key of a request. */
export type RequestKey = Pick<
  Row<'api_keys'>,
  'id' | 'workspace_id' | 'user_id' | 'permission' | 'domain_id' | 'expires_at' | 'token_hash'
>

/** What a request's key reaches. */
export const reachOf = (key: Pick<RequestKey, 'workspace_id' | 'domain_id'>): Reach => ({
  workspaceId: key.workspace_id,
  domainId: key.domain_id,
})

/** What other processes say of keys. */
export interface KeyNews {
  /** Whether they are heard now. */
  isHeard(): boolean
  /** Calls `changed` when a key was revoked, and whenever hearing begins again, because something may have been missed. */
  onChange(changed: () => void): void
}

export interface KeyCache {
  /** The key with that hash, from the cache or by `read`; undefined if there is none. */
  find(hash: string, read: () => Promise<RequestKey | undefined>): Promise<RequestKey | undefined>
  /** Removes the keys of a workspace, also those that are being read now. */
  forget(workspaceId: WorkspaceId): void
}

/**
 * Makes a cache of at most 10,000 keys, for a minute each and never past their end, and of 10,000 wrong ones for ten
 * seconds. Without news of other processes keys are cached for a second.
 */
export function createKeyCache(now: () => Date, news?: KeyNews): KeyCache {
  // The clock is read each time, because a test may move it.
  const clock = { ttlResolution: 0, perf: { now: () => now().getTime() } }
  const found = new LRUCache<string, RequestKey>({ max: CACHE_KEYS_MAX, ttl: CACHE_MS, ...clock })
  const wrong = new LRUCache<string, true>({ max: WRONG_KEYS_MAX, ttl: WRONG_MS, ...clock })
  /** Counts what makes a key that is being read doubtful: it may be revoked, and is not cached. */
  let forgotten = 0
  news?.onChange(() => {
    forgotten++
    found.clear()
  })
  const hasEnded = ({ expires_at }: RequestKey) => expires_at !== null && expires_at <= now()
  const ttlOf = ({ expires_at }: RequestKey): number => {
    const longest = news?.isHeard() ? CACHE_MS : UNHEARD_MS
    return expires_at ? Math.min(longest, expires_at.getTime() - now().getTime()) : longest
  }
  return {
    async find(hash, read) {
      const known = found.get(hash)
      // The cache alone would keep a key for one millisecond more than its time.
      if (known && !hasEnded(known)) return known
      if (wrong.has(hash)) return undefined
      const before = forgotten
      const key = await read()
      if (!key) wrong.set(hash, true)
      else if (before === forgotten) {
        const ttl = ttlOf(key)
        // A key whose end has come while it was read counts as found once more and is not kept.
        if (ttl > 0) found.set(hash, key, { ttl })
      }
      return key
    },
    forget(workspaceId) {
      forgotten++
      for (const [hash, key] of [...found.entries()]) {
        if (key.workspace_id === workspaceId) found.delete(hash)
      }
    },
  }
}
