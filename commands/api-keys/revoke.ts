// Revokes an API key.

import { updateApiKeyRevoked } from '../../db/api-keys/writes.ts'
import { isId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { RevokingDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** Revokes a key. After the commit this process refuses every request with it, and the others do so when they hear of it. */
export function revokeApiKey(
  deps: RevokingDeps,
  reach: Reach,
  { id }: { id: string },
): Promise<undefined | Refusal<'api_key_not_found'>> {
  return transact(deps, async ({ db, now, keysRevoked }) => {
    const revoked = isId('apiKey', id) && (await updateApiKeyRevoked(db, reach, id, now()))
    if (!revoked) return refuse('api_key_not_found', { id })
    keysRevoked(reach.workspaceId)
    return undefined
  })
}
