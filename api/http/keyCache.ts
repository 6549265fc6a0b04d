// Remembers the keys of requests for a moment, so that most requests find theirs without a query.

import { LRUCache } from 'lru-cache'
import type { Row } from '../../db/schema.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

/** How long a key that was found is believed; another process's revocation takes effect after it. */
const CACHE_MS = 1_000
const CACHE_KEYS_MAX = 10_000

/** The key of a request, as the handlers see it. */
export type RequestKey = Pick<
  Row<'api_keys'>,
  'id' | 'workspace_id' | 'user_id' | 'permission' | 'domain_id'
>

export interface KeyCache {
  /** The key of that hash, read by `read` unless it was found lately; undefined when there is none. */
  find(hash: string, read: () => Promise<RequestKey | undefined>): Promise<RequestKey | undefined>
  /** Forgets the keys of a workspace, those that are being read now too. */
  forget(workspaceId: WorkspaceId): void
}

/** Makes a memory of at most 10,000 keys, each believed for a second; a key that is not found is asked for each time. */
export function createKeyCache(now: () => Date): KeyCache {
  const found = new LRUCache<string, RequestKey>({
    max: CACHE_KEYS_MAX,
    ttl: CACHE_MS,
    // The clock is asked each time: a test may move it.
    ttlResolution: 0,
    perf: { now: () => now().getTime() },
  })
  /** Counts what was forgotten: a key that was read before may have been revoked since. */
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
