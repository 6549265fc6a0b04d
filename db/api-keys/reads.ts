// Reads API keys.
import { sql } from 'kysely'
import type { Reach } from '../../rules/reach.ts'
import type { Db } from '../connect.ts'
import { newestFirst } from '../listOrder.ts'
import type { Row } from '../schema.ts'

/**
 * The valid keys with these SHA-256, of any workspace: the key decides the workspace of a request. `token_hash` is the one
 * that was asked for, which may be that of a token from before a rotation; `expires_at` is when that token ends.
 */
export async function findApiKeysByHashes(db: Db, hashes: Buffer[], now: Date) {
  const { rows } = await sql<
    Pick<
      Row<'api_keys'>,
      | 'id'
      | 'workspace_id'
      | 'user_id'
      | 'permission'
      | 'domain_id'
      | 'expires_at'
      | 'last_used_at'
      | 'token_hash'
    >
  >`
    select k.id, k.workspace_id, k.user_id, k.permission, k.domain_id, k.expires_at, k.last_used_at,
      k.token_hash
    from api_keys k
    where k.token_hash = any(${hashes}::bytea[])
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > ${now})
    union all
    select k.id, k.workspace_id, k.user_id, k.permission, k.domain_id,
      least(k.expires_at, t.expires_at) as expires_at, k.last_used_at, t.token_hash
    from former_tokens t join api_keys k on k.id = t.key_id
    where t.token_hash = any(${hashes}::bytea[]) and t.expires_at > ${now}
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > ${now})
  `.execute(db)
  return rows
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
