// The cache of API keys: for a second, and never past a revocation, even one during a read.
import { expect, it } from 'vitest'
import { createKeyCache, type RequestKey } from '../../../api/http/keyCache.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'

const keyOf = (workspace: string): RequestKey => ({
  id: `key_of_${workspace}`,
  workspace_id: workspace as WorkspaceId,
  user_id: 'usr_1',
  permission: 'full_access',
  domain_id: null,
})

function setup() {
  let now = 1_000_000
  let reads = 0
  const cache = createKeyCache(() => new Date(now))
  const find = (hash: string, key: RequestKey | undefined) =>
    cache.find(hash, async () => {
      reads++
      return key
    })
  return { cache, find, pass: (ms: number) => (now += ms), reads: () => reads }
}

it('reads a key once a second, and an unknown one each time', async () => {
  const { find, pass, reads } = setup()
  const key = keyOf('a')
  expect([await find('h', key), await find('h', undefined)]).toEqual([key, key])
  expect(reads()).toBe(1)
  pass(999)
  expect(await find('h', undefined)).toEqual(key)
  pass(2)
  expect(await find('h', undefined)).toBeUndefined()
  expect(await find('h', undefined)).toBeUndefined()
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
