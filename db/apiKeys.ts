// Queries over API keys.
import type { Db } from './connect.ts'
import { newestFirst } from './listOrder.ts'
import type { NewRow } from './schema.ts'

/** The live key with that SHA-256, over all workspaces: it is what names the workspace. */
export function findApiKeyByHash(db: Db, hash: Buffer, now: Date) {
  return db
    .selectFrom('api_keys')
    .select(['id', 'workspace_id', 'user_id', 'permission', 'domain_id', 'last_used_at'])
    .where('token_hash', '=', hash)
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .executeTakeFirst()
}

export async function insertApiKey(db: Db, row: NewRow<'api_keys'>): Promise<void> {
  await db.insertInto('api_keys').values(row).execute()
}

export async function updateApiKeyUsed(db: Db, id: string, now: Date): Promise<void> {
  await db.updateTable('api_keys').set({ last_used_at: now }).where('id', '=', id).execute()
}

/** Keys that were not revoked, newest first, after the id `after`. */
export function listApiKeys(
  db: Db,
  workspaceId: string,
  page: { after: string | null; limit: number },
) {
  return db
    .selectFrom('api_keys')
    .select([
      'id',
      'name',
      'prefix',
      'permission',
      'domain_id',
      'expires_at',
      'last_used_at',
      'created_at',
    ])
    .where('workspace_id', '=', workspaceId)
    .where('revoked_at', 'is', null)
    .$if(page.after !== null, (qb) => qb.where('id', '<', page.after as string))
    .orderBy('id', newestFirst)
    .limit(page.limit)
    .execute()
}

/** Revokes a key; false when the workspace has no such live key. */
export async function revokeApiKey(
  db: Db,
  workspaceId: string,
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
  workspaceId: string,
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
