// Finds the API key of a request, before anything else is checked.
import { setTimeout as pause } from 'node:timers/promises'
import { noteKeyUse } from '../../commands/api-keys/noteUse.ts'
import { hashApiKey } from '../../commands/api-keys/token.ts'
import { findApiKeysByHashes } from '../../db/api-keys/reads.ts'
import type { ApiDeps } from './env.ts'
import { ApiError } from './errors.ts'
import type { KeyCache, RequestKey } from './keyCache.ts'
import { createKeyLookups } from './keyLookups.ts'
import { createWrongKeyPause } from './wrongKeys.ts'

/**
 * Makes a function that finds the valid key of an Authorization header and stores when it was used.
 * Look-ups of keys that are not cached take turns by the client's address, and an address with many wrong ones has its
 * answers late.
 * @throws ApiError 403 `invalid_authorization_header` or `invalid_api_key`
 */
export function createKeyFinder(
  deps: Pick<ApiDeps, 'db' | 'now' | 'log' | 'wake'>,
  cache: KeyCache,
) {
  const wrongKeyPause = createWrongKeyPause((ms) => pause(ms, undefined, { ref: false }), deps.now)
  const lookUp = createKeyLookups((hashes) => findApiKeysByHashes(deps.db, hashes, deps.now()))
  const read = async (hash: Buffer, address: string): Promise<RequestKey | undefined> => {
    const row = await lookUp(hash, address)
    if (!row) return undefined
    const { last_used_at: lastUsedAt, token_hash: _, ...key } = row
    // The request does not wait for this.
    noteKeyUse(deps, key.workspace_id, { id: key.id, lastUsedAt }).catch((err) =>
      deps.log.warn({ err }, 'last use of a key was not noted'),
    )
    return key
  }
  return async (authorization: string | undefined, address: string): Promise<RequestKey> => {
    const token = /^Bearer +(\S.*)$/i.exec(authorization ?? '')?.[1]?.trim()
    if (!token) {
      const text = 'Send the header Authorization: Bearer <API_KEY>'
      throw new ApiError(403, 'invalid_authorization_header', text)
    }
    const hash = hashApiKey(token)
    const key = await cache.find(hash.toString('latin1'), () => read(hash, address))
    if (key) return key
    await wrongKeyPause(address)
    throw new ApiError(403, 'invalid_api_key', 'The API key is unknown, revoked or expired')
  }
}
