// Makes an API key, and its workspace and user if they do not exist yet.

import { insertApiKey } from '../../db/api-keys/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { KeyPermission } from '../../rules/permissions.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { ensureWorkspace, type Owner } from '../workspaces/ensure.ts'
import { newApiKeyToken } from './token.ts'

export interface CreateApiKeyInput {
  /** The workspace by its name, because nobody can know a workspace's id before its first key exists. */
  workspaceName: string
  name: string
  permission?: KeyPermission
  user?: Owner
}

/** @returns the token (shown once, stored nowhere) and the ids of key, workspace and user */
export function createApiKey(
  deps: Pick<CommandDeps, 'db' | 'newId' | 'now'>,
  input: CreateApiKeyInput,
): Promise<{ token: string; keyId: string; workspaceId: WorkspaceId; userId: string }> {
  const { newId, now } = deps
  return transact({ ...deps, wake: () => undefined }, async (inTrx) => {
    const { workspaceId, userId } = await ensureWorkspace(inTrx, {
      name: input.workspaceName,
      ...(input.user ? { user: input.user } : {}),
    })
    const { token, prefix, hash } = newApiKeyToken()
    const keyId = newId('apiKey')
    await insertApiKey(inTrx.db, workspaceId, {
      id: keyId,
      user_id: userId,
      name: input.name,
      prefix,
      token_hash: hash,
      permission: input.permission ?? 'full_access',
      domain_id: null,
      expires_at: null,
      last_used_at: null,
      revoked_at: null,
      created_at: now(),
    })
    return { token, keyId, workspaceId, userId }
  })
}
