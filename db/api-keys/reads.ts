// Reads API keys.
import { type SqlBool, sql } from 'kysely'
import type { Reach } from '../../rules/reach.ts'
import type { Db } from '../connect.ts'
import { newestFirst } from '../listOrder.ts'

/** The valid keys with these SHA-256, of any workspace: the key decides the workspace of a request. */
export function findApiKeysByHashes(db: Db, hashes: Buffer[], now: Date) {
  return db
    .selectFrom('api_keys')
    .select([
      'id',
      'workspace_id',
      'user_id',
      'permission',
      'domain_id',
      'expires_at',
      'last_used_at',
      'token_hash',
    ])
    .where(sql<SqlBool>`token_hash = any(${hashes}::bytea[])`)
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .execute()
}

/** Keys that were not revoked, to a bound caller those for its domain alone; newest first, after the id `after`. */
export function listApiKeys(
  db: Db,
  { workspaceId, domainId }: Reach,
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
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('revoked_at', 'is', null)
    .$if(page.after !== null, (qb) => qb.where('id', '<', page.after as string))
    .orderBy('id', newestFirst)
    .limit(page.limit)
    .execute()
}
