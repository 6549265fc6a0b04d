// What a key of each permission could give to others, if it were allowed to make keys.
import { describe, expect, it } from 'vitest'
import { createKeyByKey } from '../../commands/api-keys/createByKey.ts'
import { rotateApiKey } from '../../commands/api-keys/rotate.ts'
import { hashApiKey } from '../../commands/api-keys/token.ts'
import { transact } from '../../commands/transact.ts'
import { replaceToken, updateApiKeyRevoked } from '../../db/api-keys/writes.ts'
import { permissions } from '../../rules/permissions.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { createTestApi } from '../setup/api.ts'

const api = await createTestApi()
const asking = { id: api.keyId, tokenHash: hashApiKey(api.key) }

it('gives no key that may more than its own', async () => {
  const maker = { ...asking, userId: api.userId, expiresAt: null }
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

describe('a key that is gone when it gets the lock, though it was there when it was looked up', () => {
  const reach = wholeWorkspace(api.workspaceId)
  const revoking = { ...api.deps, keysRevoked: () => undefined }
  const full = { userId: api.userId, permission: 'full_access', expiresAt: null } as const
  const count = async () => {
    const rows = await api.db
      .selectFrom('api_keys')
      .select(['id', 'token_hash'])
      .orderBy('id')
      .execute()
    return rows.map(({ id, token_hash }) => `${id} ${token_hash.toString('hex')}`)
  }

  /** How it goes, in the transaction of somebody else: the key is refused from their commit on. */
  const ways: Record<
    string,
    (trx: Parameters<typeof updateApiKeyRevoked>[0], id: string) => Promise<unknown>
  > = {
    revoked: (trx, id) => updateApiKeyRevoked(trx, reach, id, new Date()),
    'replaced without grace': (trx, id) =>
      replaceToken(trx, api.workspaceId, id, {
        prefix: 'key_other',
        hash: hashApiKey(`another token ${id}`),
        formerUntil: null,
        now: new Date(),
      }),
  }

  it.each(Object.keys(ways))('%s: it makes none and rotates none', async (name) => {
    const [maker, other] = [await api.createKey(), await api.createKey()]
    const by = { ...full, id: maker.keyId, tokenHash: hashApiKey(maker.token) }
    let locked = () => {}
    let commit = () => {}
    const isLocked = new Promise<void>((resolve) => {
      locked = resolve
    })
    const mayCommit = new Promise<void>((resolve) => {
      commit = resolve
    })
    const going = transact(api.deps, async ({ db: trx }) => {
      await ways[name]?.(trx, maker.keyId)
      locked()
      await mayCommit
    })
    await isLocked
    const asked = Promise.all([
      createKeyByKey(api.deps, reach, by, { name: 'Made', permission: 'read_only' }),
      rotateApiKey(revoking, reach, by, { id: other.keyId, grace_ms: 0 }),
    ])
    commit()
    await going
    const before = await count()
    expect(await asked).toMatchObject([{ code: 'api_key_gone' }, { code: 'api_key_gone' }])
    expect(await count()).toEqual(before)
  })

  it('one that was replaced with grace still may, by both of its tokens', async () => {
    const maker = await api.createKey()
    const by = { ...full, id: maker.keyId, tokenHash: hashApiKey(maker.token) }
    const rotated = await rotateApiKey(revoking, reach, by, { id: maker.keyId, grace_ms: 60_000 })
    if (!('token' in rotated)) throw new Error(rotated.code)
    for (const tokenHash of [by.tokenHash, hashApiKey(rotated.token)]) {
      const made = await createKeyByKey(
        api.deps,
        reach,
        { ...by, tokenHash },
        { name: 'Made', permission: 'read_only' },
      )
      expect(made).toHaveProperty('token')
    }
  })

  it('two keys that rotate each other at once do so one after the other', async () => {
    const keys = await Promise.all([api.createKey(), api.createKey()])
    const [a, b] = keys.map(({ keyId, token }) => ({
      ...full,
      id: keyId,
      tokenHash: hashApiKey(token),
    }))
    if (!a || !b) throw new Error('there are two')
    const answers = await Promise.all([
      rotateApiKey(revoking, reach, a, { id: b.id, grace_ms: 0 }),
      rotateApiKey(revoking, reach, b, { id: a.id, grace_ms: 0 }),
    ])
    expect(answers.filter((one) => 'token' in one)).toHaveLength(1)
  })
})
