// Writes API keys.

import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import type { Trx } from '../connect.ts'
import type { NewRow, Row } from '../schema.ts'

/** Writes an API key. Only the hash of its token is stored. */
export async function insertApiKey(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<NewRow<'api_keys'>, 'workspace_id'>,
): Promise<void> {
  await trx
    .insertInto('api_keys')
    .values({ ...row, workspace_id: workspaceId })
    .execute()
}

/** Stores when a key was last used. */
export async function updateApiKeyUsed(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  now: Date,
): Promise<void> {
  await trx
    .updateTable('api_keys')
    .set({ last_used_at: now })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .execute()
}

/** Revokes a key; false if the caller reaches no such valid key. */
export async function updateApiKeyRevoked(
  trx: Trx,
  { workspaceId, domainId }: Reach,
  id: string,
  now: Date,
): Promise<boolean> {
  const result = await trx
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  await tellRevoked(trx)
  return result.numUpdatedRows > 0n
}

/** Locks keys in the order of their ids, so that two who lock the same ones do not wait for each other in a circle. */
export async function lockApiKeys(
  trx: Trx,
  workspaceId: WorkspaceId,
  ids: readonly string[],
): Promise<void> {
  await trx
    .selectFrom('api_keys')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', 'in', ids)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
}

/** Locks a key that the caller reaches and that was not revoked. */
export function lockApiKey(
  trx: Trx,
  { workspaceId, domainId }: Reach,
  id: string,
): Promise<Row<'api_keys'> | undefined> {
  return trx
    .selectFrom('api_keys')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/**
 * Gives a locked key another token.
 * @param next `formerUntil`: how long the token that it has lives on, but never past the key's end; null: it is refused at once, and
 * so are those of earlier rotations, any of which may be the one that leaked
 */
export async function replaceToken(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  next: { prefix: string; hash: Buffer; formerUntil: Date | null; now: Date },
): Promise<void> {
  const { prefix, hash, formerUntil, now } = next
  await trx
    .deleteFrom('former_tokens')
    .where('workspace_id', '=', workspaceId)
    .where('key_id', '=', id)
    .$if(formerUntil !== null, (qb) => qb.where('expires_at', '<=', now))
    .execute()
  if (formerUntil) {
    await sql`
      insert into former_tokens (token_hash, workspace_id, key_id, expires_at)
      select token_hash, workspace_id, id, least(expires_at, ${formerUntil}::timestamptz)
      from api_keys where workspace_id = ${workspaceId} and id = ${id}
    `.execute(trx)
  }
  await trx
    .updateTable('api_keys')
    .set({ token_hash: hash, prefix })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .execute()
  await tellRevoked(trx)
}

/** Tells every process that remembers keys, when this commits. */
async function tellRevoked(trx: Trx): Promise<void> {
  await sql`notify dripline_api_keys`.execute(trx)
}

/** Revokes the keys that are restricted to a domain. */
export async function updateDomainKeysRevoked(
  trx: Trx,
  workspaceId: WorkspaceId,
  domainId: string,
  now: Date,
): Promise<void> {
  await trx
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('workspace_id', '=', workspaceId)
    .where('domain_id', '=', domainId)
    .where('revoked_at', 'is', null)
    .execute()
  await tellRevoked(trx)
}
