// What a key may give to keys that it makes or rotates: no more than it has itself, and nothing once it is gone.
import { findApiKeysByHashes } from '../../db/api-keys/reads.ts'
import { lockApiKeys } from '../../db/api-keys/writes.ts'
import type { Trx } from '../../db/connect.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type KeyPermission, mayAllThat } from '../../rules/permissions.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'

/** The key that asks. */
export interface KeyMaker {
  id: string
  /** SHA-256 of the token that was shown. */
  tokenHash: Buffer
  userId: string
  permission: KeyPermission
  /** null: it has no end. */
  expiresAt: Date | null
}

/** A refusal for a key that may more than its maker, or lives longer; undefined for others. */
export function checkPower(
  maker: Pick<KeyMaker, 'permission' | 'expiresAt'>,
  made: { permission: KeyPermission; expiresAt: Date | null },
): Refusal<'api_key_stronger' | 'api_key_outlives'> | undefined {
  if (!mayAllThat(maker.permission, made.permission)) {
    return refuse('api_key_stronger', { permission: maker.permission, asked: made.permission })
  }
  const { expiresAt } = maker
  if (expiresAt && (made.expiresAt === null || made.expiresAt > expiresAt)) {
    return refuse('api_key_outlives', { end: expiresAt.getTime() })
  }
  return undefined
}

/**
 * Locks the key that asks, and others with it. What is known of it may be a moment old: a key that was revoked meanwhile, or whose
 * token was replaced, must not live on in one that it makes. After the lock of a domain, which who deletes one takes first.
 * @returns when the token that was shown ends, as it is now: a rotation meanwhile may have left it a grace alone
 */
export async function lockMaker(
  trx: Trx,
  workspaceId: WorkspaceId,
  { id, tokenHash }: Pick<KeyMaker, 'id' | 'tokenHash'>,
  { now, others = [] }: { now: Date; others?: readonly string[] },
): Promise<Pick<KeyMaker, 'expiresAt'> | Refusal<'api_key_gone'>> {
  await lockApiKeys(trx, workspaceId, [id, ...others])
  const found = await findApiKeysByHashes(trx, [tokenHash], now)
  const key = found.find((one) => one.id === id)
  return key ? { expiresAt: key.expires_at } : refuse('api_key_gone', {})
}
