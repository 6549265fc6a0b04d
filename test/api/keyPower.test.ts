// What a key of each permission could give to others, if it were allowed to make keys.
import { expect, it } from 'vitest'
import { createKeyByKey } from '../../commands/api-keys/createByKey.ts'
import { permissions } from '../../rules/permissions.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { createTestApi } from '../setup/api.ts'

const api = await createTestApi()

it('gives no key that may more than its own', async () => {
  const maker = { userId: api.userId, expiresAt: null }
  const reach = wholeWorkspace(api.workspaceId)
  const made = new Map<string, string[]>()
  for (const permission of permissions) {
    const able: string[] = []
    for (const asked of permissions) {
      const input = { name: 'Made', permission: asked }
      const answer = await createKeyByKey(api.deps, reach, { ...maker, permission }, input)
      if ('token' in answer) able.push(asked)
      else expect(answer.code).toBe('api_key_stronger')
    }
    made.set(permission, able)
  }
  expect(Object.fromEntries(made)).toEqual({
    full_access: [...permissions],
    sending_access: ['sending_access'],
    events_only: ['events_only'],
    read_only: ['read_only'],
  })
})
