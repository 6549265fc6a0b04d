// Finds the API key of a request, before anything else is checked.
import { setTimeout as pause } from 'node:timers/promises'
import { createFindKey } from '../../commands/api-keys/find.ts'
import type { KeyCache, RequestKey } from '../../commands/api-keys/keyCache.ts'
import { createWrongKeyPause } from '../../commands/api-keys/wrongKeys.ts'
import type { ApiDeps } from './env.ts'
import { ApiError } from './errors.ts'

/**
 * Makes a function that finds the valid key of an Authorization header and stores when it was used.
 * An address with many wrong ones has its answers late.
 * @throws ApiError 403 `invalid_authorization_header` or `invalid_api_key`
 */
export function createKeyFinder(
  deps: Pick<ApiDeps, 'db' | 'now' | 'log' | 'wake'>,
  cache: KeyCache,
) {
  const wrongKeyPause = createWrongKeyPause((ms) => pause(ms, undefined, { ref: false }), deps.now)
  const find = createFindKey(deps, cache, (err) =>
    deps.log.warn({ err }, 'last use of a key was not noted'),
  )
  return async (authorization: string | undefined, address: string): Promise<RequestKey> => {
    const token = /^Bearer +(\S.*)$/i.exec(authorization ?? '')?.[1]?.trim()
    if (!token) {
      const text = 'Send the header Authorization: Bearer <API_KEY>'
      throw new ApiError(403, 'invalid_authorization_header', text)
    }
    const key = await find(token, address)()
    if (key) return key
    await wrongKeyPause(address)
    throw new ApiError(403, 'invalid_api_key', 'The API key is unknown, revoked or expired')
  }
}
