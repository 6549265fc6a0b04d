// The cache of API keys: for a minute, never past their end, and never past a revocation, even one during a read.
import { expect, it } from 'vitest'
import { createKeyCache, type RequestKey } from '../../../commands/api-keys/keyCache.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'

const keyOf = (workspace: string): RequestKey => ({
  id: `key_of_${workspace}`,
  workspace_id: workspace as WorkspaceId,
  user_id: 'usr_1',
  permission: 'full_access',
  domain_id: null,
  expires_at: null,
  token_hash: Buffer.alloc(32),
})

function setup({ isHeard = false } = {}) {
  let now = 1_000_000
  let reads = 0
  const listeners: (() => void)[] = []
  const hearing = { isHeard }
  const cache = createKeyCache(() => new Date(now), {
    isHeard: () => hearing.isHeard,
    onChange: (changed) => void listeners.push(changed),
  })
  const find = (hash: string, key: RequestKey | undefined) =>
    cache.find(hash, async () => {
      reads++
      return key
    })
  return {
    cache,
    find,
    hearing,
    tell: () => {
      for (const changed of listeners) changed()
    },
    pass: (ms: number) => (now += ms),
    reads: () => reads,
  }
}

it('reads a key once a second while other processes are not heard, and a wrong one once in ten', async () => {
  const { find, pass, reads } = setup()
  const key = keyOf('a')
  expect([await find('h', key), await find('h', undefined)]).toEqual([key, key])
  expect(reads()).toBe(1)
  pass(999)
  expect(await find('h', undefined)).toEqual(key)
  pass(2)
  expect(await find('h', undefined)).toBeUndefined()
  expect(await find('h', key)).toBeUndefined()
  expect(reads()).toBe(2)
  pass(9_999)
  expect(await find('h', key)).toBeUndefined()
  pass(2)
  expect(await find('h', key)).toEqual(key)
  expect(reads()).toBe(3)
})

it("forgets a workspace's keys, and no other's", async () => {
  const { cache, find, reads } = setup()
  await find('h1', keyOf('a'))
  await find('h2', keyOf('b'))
  cache.forget('a' as WorkspaceId)
  expect(await find('h2', undefined)).toEqual(keyOf('b'))
  expect(await find('h1', undefined)).toBeUndefined()
  expect(reads()).toBe(3)
})

it('does not remember a key that was being read while its workspace lost one', async () => {
  const { cache, find } = setup()
  const answered: (() => void)[] = []
  const reading = cache.find('h', async () => {
    await new Promise<void>((resolve) => answered.push(resolve))
    return keyOf('a')
  })
  cache.forget('a' as WorkspaceId)
  for (const answer of answered) answer()
  expect(await reading).toEqual(keyOf('a'))
  expect(await find('h', undefined)).toBeUndefined()
})

it('reads a key once a minute while other processes are heard, and anew when they tell of a change', async () => {
  const { find, pass, tell, hearing } = setup({ isHeard: true })
  const key = keyOf('a')
  await find('h', key)
  pass(59_999)
  expect(await find('h', undefined)).toEqual(key)
  tell()
  expect(await find('h', undefined)).toBeUndefined()

  hearing.isHeard = false
  await find('other', key)
  pass(1_001)
  expect(await find('other', undefined)).toBeUndefined()
})

it('does not remember a key that was being read when a change was told', async () => {
  const { cache, find, tell } = setup({ isHeard: true })
  const reading = cache.find('h', async () => {
    tell()
    return keyOf('a')
  })
  expect(await reading).toEqual(keyOf('a'))
  expect(await find('h', undefined)).toBeUndefined()
})

it('forgets a key at its end', async () => {
  const { find, pass } = setup({ isHeard: true })
  const key = { ...keyOf('a'), expires_at: new Date(1_005_000) }
  await find('h', key)
  pass(4_999)
  expect(await find('h', undefined)).toEqual(key)
  pass(1)
  expect(await find('h', undefined)).toBeUndefined()
})
