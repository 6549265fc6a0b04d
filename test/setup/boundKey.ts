// API keys that are bound to one domain, and designs that send from one.
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

const edge = (source: string, target: string) => ({ id: `${source}-${target}`, source, target })

/** A design that sends, on the event `bound.asked`, with the data of its one mail and the settings. */
export const sending = (data: object, settings: object = {}) => ({
  nodes: [
    { id: 'start', type: 'trigger', data: { kind: 'event', event_name: 'bound.asked' } },
    { id: 'mail', type: 'send_email', data: { subject: 'Hi', ...data } },
    { id: 'end', type: 'exit', data: {} },
  ],
  edges: [edge('start', 'mail'), edge('mail', 'end')],
  settings,
})
