// Makes an API key for a caller who has one, with no more power than theirs.

import { insertApiKey } from '../../db/api-keys/writes.ts'
import { lockDomain } from '../../db/domains/writes.ts'
import type { Row } from '../../db/schema.ts'
import { isId } from '../../rules/ids.ts'
import type { KeyPermission } from '../../rules/permissions.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { checkPower, type KeyMaker, lockMaker } from './power.ts'
import { newApiKeyToken } from './token.ts'

interface CreateByKeyInput {
  name: string
  permission: KeyPermission
  /** The only domain that it is for; absent: that of the caller, who may be bound to none. */
  domainId?: string | null | undefined
  /** In ms; absent: the end of the caller's key, which may have none. */
  expiresAt?: number | null | undefined
}

type CreateByKeyRefusal = Refusal<
  | 'api_key_stronger'
  | 'api_key_outlives'
  | 'api_key_ends_before'
  | 'api_key_gone'
  | 'domain_id_not_found'
>

/** @returns the key's row and its token, which is shown once and stored nowhere */
export function createKeyByKey(
  deps: Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake'>,
  reach: Reach,
  maker: KeyMaker,
  input: CreateByKeyInput,
): Promise<{ row: Row<'api_keys'>; token: string } | CreateByKeyRefusal> {
  const { workspaceId } = reach
  const { name, permission } = input
  const domainId = input.domainId ?? reach.domainId
  const given = input.expiresAt ?? null
  return transact(deps, async ({ db, newId, now }) => {
    const at = now()
    if (given !== null && given <= at.getTime()) {
      return refuse('api_key_ends_before', { given, now: at.getTime() })
    }
    // Under the lock the domain cannot be deleted meanwhile, which revokes its keys.
    if (domainId !== null) {
      const domain = isId('domain', domainId) ? await lockDomain(db, reach, domainId) : undefined
      if (!domain) return refuse('domain_id_not_found', { id: domainId })
    }
    const asking = await lockMaker(db, workspaceId, maker, { now: at })
    if (isRefusal(asking)) return asking
    const expiresAt = given === null ? asking.expiresAt : new Date(given)
    const own = { permission: maker.permission, expiresAt: asking.expiresAt }
    const beyond = checkPower(own, { permission, expiresAt })
    if (beyond) return beyond
    const { token, prefix, hash } = newApiKeyToken()
    const row = {
      id: newId('apiKey'),
      user_id: maker.userId,
      name,
      prefix,
      token_hash: hash,
      permission,
      domain_id: domainId,
      expires_at: expiresAt,
      last_used_at: null,
      revoked_at: null,
      created_at: at,
    }
    await insertApiKey(db, workspaceId, row)
    return { row: { ...row, workspace_id: workspaceId }, token }
  })
}
