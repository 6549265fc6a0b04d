// A cache of API keys, so that most requests need no query for their key.

import { LRUCache } from 'lru-cache'
import type { Row } from '../../db/schema.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'

/** How long a key is cached. A revocation by another process takes effect after this time. */
const CACHE_MS = 1_000
const CACHE_KEYS_MAX = 10_000

/** The API key of a request. */
export type RequestKey = Pick<
  Row<'api_keys'>,
  'id' | 'workspace_id' | 'user_id' | 'permission' | 'domain_id'
>

/** What a request with that key reaches. */
export const reachOf = (key: Pick<RequestKey, 'workspace_id' | 'domain_id'>): Reach => ({
  workspaceId: key.workspace_id,
  domainId: key.domain_id,
})

export interface KeyCache {
  /** The key with that hash, from the cache or by `read`; undefined if there is none. */
  find(hash: string, read: () => Promise<RequestKey | undefined>): Promise<RequestKey | undefined>
  /** Removes the keys of a workspace, also those that are being read now. */
  forget(workspaceId: WorkspaceId): void
}

/** Makes a cache of at most 10,000 keys for one second each. Unknown keys are not cached. */
export function createKeyCache(now: () => Date): KeyCache {
  const found = new LRUCache<string, RequestKey>({
    max: CACHE_KEYS_MAX,
    ttl: CACHE_MS,
    // The clock is read each time, because a test may move it.
    ttlResolution: 0,
    perf: { now: () => now().getTime() },
  })
  /** Counts calls of `forget`: a key whose read began before one may be revoked and is not cached. */
  let forgotten = 0
  return {
    async find(hash, read) {
      const known = found.get(hash)
      if (known) return known
      const before = forgotten
      const key = await read()
      if (key && before === forgotten) found.set(hash, key)
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
