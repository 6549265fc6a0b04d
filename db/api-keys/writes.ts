// Writes API keys.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import type { NewRow } from '../schema.ts'

export async function insertApiKey(db: Db, row: NewRow<'api_keys'>): Promise<void> {
  await db.insertInto('api_keys').values(row).execute()
}

export async function updateApiKeyUsed(db: Db, id: string, now: Date): Promise<void> {
  await db.updateTable('api_keys').set({ last_used_at: now }).where('id', '=', id).execute()
}

/** Revokes a key; false when the workspace has no such live key. */
export async function revokeApiKey(
  db: Db,
  workspaceId: WorkspaceId,
  id: string,
  now: Date,
): Promise<boolean> {
  const result = await db
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Revokes the keys that are restricted to a domain. */
export async function revokeDomainKeys(
  db: Db,
  workspaceId: WorkspaceId,
  domainId: string,
  now: Date,
): Promise<void> {
  await db
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('workspace_id', '=', workspaceId)
    .where('domain_id', '=', domainId)
    .where('revoked_at', 'is', null)
    .execute()
}
