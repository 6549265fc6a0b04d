// What a key may give to keys that it makes or rotates: no more than it has itself.
import { type KeyPermission, mayAllThat } from '../../rules/permissions.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'

/** The key that asks. */
export interface KeyMaker {
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
