// Finds the valid key of a token, whoever shows it: a request, or a mail program.
import { findApiKeysByHashes } from '../../db/api-keys/reads.ts'
import type { CommandDeps } from '../deps.ts'
import type { KeyCache, RequestKey } from './keyCache.ts'
import { createKeyLookups } from './keyLookups.ts'
import { noteKeyUse } from './noteUse.ts'
import { hashApiKey } from './token.ts'

/**
 * @param address the client's, by which look-ups take turns
 * @returns gives the key of the token as it is now, each time; undefined: there is none that is valid. Who asks again need not hash the token again
 */
export type FindKey = (token: string, address: string) => () => Promise<RequestKey | undefined>

/**
 * Makes what finds the valid key of a token, each time that it is asked, and stores when the key was used. Look-ups of keys that are not cached
 * take turns by the client's address.
 * @param onFailure called when the last use of a key could not be stored, which nobody waits for
 */
export function createFindKey(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  cache: KeyCache,
  onFailure: (err: unknown) => void,
): FindKey {
  const lookUp = createKeyLookups((hashes) => findApiKeysByHashes(deps.db, hashes, deps.now()))
  const read = async (hash: Buffer, address: string): Promise<RequestKey | undefined> => {
    const row = await lookUp(hash, address)
    if (!row) return undefined
    const { last_used_at: lastUsedAt, ...key } = row
    noteKeyUse(deps, key.workspace_id, { id: key.id, lastUsedAt }).catch(onFailure)
    return key
  }
  return (token, address) => {
    const hash = hashApiKey(token)
    const name = hash.toString('latin1')
    return () => cache.find(name, () => read(hash, address))
  }
}
