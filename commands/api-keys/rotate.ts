// Gives an API key another token; the one before may live on for a while.

import { lockApiKey, replaceToken } from '../../db/api-keys/writes.ts'
import type { Row } from '../../db/schema.ts'
import { isId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import type { RevokingDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { checkPower, type KeyMaker, lockMaker } from './power.ts'
import { newApiKeyToken } from './token.ts'

interface RotateApiKeyInput {
  id: string
  /** How long the token before lives on, but never past the key's end; 0: it and all before it are refused at once. */
  grace_ms: number
}

type RotateRefusal = Refusal<
  'api_key_not_found' | 'api_key_expired' | 'api_key_stronger' | 'api_key_outlives' | 'api_key_gone'
>

/**
 * Gives a live key a new token. Tokens of earlier rotations keep what is left of their grace, unless none is given now. Refused when the key may more
 * than the caller's, or lives longer: its token would give the caller what they do not have.
 * @returns the key's row and its token, which is shown once and stored nowhere
 */
export function rotateApiKey(
  deps: RevokingDeps,
  reach: Reach,
  maker: Omit<KeyMaker, 'userId'>,
  { id, grace_ms }: RotateApiKeyInput,
): Promise<{ row: Row<'api_keys'>; token: string } | RotateRefusal> {
  const { workspaceId } = reach
  return transact(deps, async ({ db, now, keysRevoked }) => {
    const at = now()
    const isOne = isId('apiKey', id)
    const asking = await lockMaker(db, workspaceId, maker, { now: at, others: isOne ? [id] : [] })
    if (isRefusal(asking)) return asking
    const key = isOne ? await lockApiKey(db, reach, id) : undefined
    if (!key) return refuse('api_key_not_found', { id })
    if (key.expires_at && key.expires_at <= at) return refuse('api_key_expired', { id })
    const { permission } = maker
    const given = { permission: key.permission, expiresAt: key.expires_at }
    const beyond = checkPower({ permission, expiresAt: asking.expiresAt }, given)
    if (beyond) return beyond
    const { token, prefix, hash } = newApiKeyToken()
    const formerUntil = grace_ms > 0 ? new Date(at.getTime() + grace_ms) : null
    await replaceToken(db, workspaceId, id, { prefix, hash, formerUntil, now: at })
    keysRevoked(workspaceId)
    return { row: { ...key, prefix, token_hash: hash }, token }
  })
}
