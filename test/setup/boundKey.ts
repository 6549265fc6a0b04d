// API keys that are bound to one domain.
import type { CreateApiKeyInput } from '../../commands/api-keys/create.ts'
import type { TestApi } from './api.ts'

/** A key of the workspace `test` that is bound to the domain, with full access unless it says otherwise. */
export async function createBoundKey(
  { db, createKey }: Pick<TestApi, 'db' | 'createKey'>,
  domainId: string,
  input: Partial<CreateApiKeyInput> = {},
): Promise<{ token: string; keyId: string }> {
  const { token, keyId } = await createKey(input)
  await db.updateTable('api_keys').set({ domain_id: domainId }).where('id', '=', keyId).execute()
  return { token, keyId }
}
