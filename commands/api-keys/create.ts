// Makes an API key, and the workspace and user it belongs to when they are new.

import { insertApiKey } from '../../db/api-keys/writes.ts'
import type { Db } from '../../db/connect.ts'
import type { KeyPermission } from '../../db/schema.ts'
import { upsertUser, upsertWorkspace } from '../../db/workspaces/writes.ts'
import type { NewId, WorkspaceId } from '../../rules/ids.ts'
import { newApiKeyToken } from './token.ts'

export interface CreateApiKeyInput {
  workspaceName: string
  name: string
  permission?: KeyPermission
  user?: { email: string; firstName: string | null; lastName: string | null }
}

/** @returns the token, to be shown once, with the ids that were found or made */
export async function createApiKey(
  { db, newId, now }: { db: Db; newId: NewId; now: () => Date },
  input: CreateApiKeyInput,
): Promise<{ token: string; keyId: string; workspaceId: WorkspaceId; userId: string }> {
  const created_at = now()
  return db.transaction().execute(async (trx) => {
    const workspace = await upsertWorkspace(trx, {
      id: newId('workspace'),
      name: input.workspaceName,
      created_at,
    })
    const user = await upsertUser(trx, {
      id: newId('user'),
      workspace_id: workspace.id,
      email: input.user?.email ?? `owner@${workspace.id.toLowerCase().replace('_', '-')}.invalid`,
      first_name: input.user?.firstName ?? null,
      last_name: input.user?.lastName ?? null,
      created_at,
    })
    const { token, prefix, hash } = newApiKeyToken()
    const keyId = newId('apiKey')
    await insertApiKey(trx, {
      id: keyId,
      workspace_id: workspace.id,
      user_id: user.id,
      name: input.name,
      prefix,
      token_hash: hash,
      permission: input.permission ?? 'full_access',
      domain_id: null,
      expires_at: null,
      last_used_at: null,
      revoked_at: null,
      created_at,
    })
    return { token, keyId, workspaceId: workspace.id, userId: user.id }
  })
}
