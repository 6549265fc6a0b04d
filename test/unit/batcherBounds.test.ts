// How much a batcher lets wait, and what becomes of those that wait when a group fails.
import { expect, test } from 'vitest'
import { createBatchers } from '../../runtime/batcher.ts'

class Full extends Error {}

test('of one key no more are let in than may wait, and those of another key are', async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const submit = createBatchers(
    async (_key: string, items: number[]) => {
      await held
      return items
    },
    2,
    { full: { most: 3, error: () => new Full('full') } },
  )
  const all = [1, 2, 3].map((item) => submit('a', item))
  await expect(submit('a', 4)).rejects.toBeInstanceOf(Full)
  const other = submit('b', 5)
  release()
  expect(await Promise.all([...all, other])).toEqual([1, 2, 3, 5])
  expect(await submit('a', 6)).toBe(6)
})

test('a failure that is that of all ends those that wait, too, and another one does not', async () => {
  const asked: number[][] = []
  const submit = createBatchers(
    async (_key: string, items: number[]) => {
      asked.push(items)
      throw new Error(items.includes(1) ? 'gone' : 'its own')
    },
    1,
    { failsAll: (err) => err instanceof Error && err.message === 'gone' },
  )
  const settle = (items: number[]) => Promise.allSettled(items.map((item) => submit('a', item)))
  const messages = (all: PromiseSettledResult<unknown>[]) =>
    all.map((one) => (one.status === 'rejected' ? (one.reason as Error).message : one.value))
  expect(messages(await settle([1, 2, 3]))).toEqual(['gone', 'gone', 'gone'])
  expect(asked).toEqual([[1]])
  expect(messages(await settle([2, 3]))).toEqual(['its own', 'its own'])
  expect(asked).toEqual([[1], [2], [3]])
})

test('where more wait than one group may have, further groups are under way, none with a key of another', async () => {
  const underWay = new Set<string>()
  const groups: string[][] = []
  const releases: (() => void)[] = []
  const submit = createBatchers(
    async (_key: string, items: string[]) => {
      for (const item of items) {
        if (underWay.has(item)) throw new Error(`${item} is under way twice`)
        underWay.add(item)
      }
      groups.push(items)
      await new Promise<void>((resolve) => releases.push(resolve))
      for (const item of items) underWay.delete(item)
      return items
    },
    2,
    { atOnce: 3, keysOf: (item) => [item] },
  )
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const all = ['a', 'b', 'a', 'c', 'd', 'e', 'f', 'g', 'h', 'a'].map((item) => submit('key', item))
  for (let n = 0; n < 5; n++) await turn()
  expect(groups).toEqual([
    ['a', 'b'],
    ['c', 'd'],
    ['e', 'f'],
  ])
  while (releases.length > 0) {
    releases.shift()?.()
    await turn()
  }
  expect(await Promise.all(all)).toEqual(['a', 'b', 'a', 'c', 'd', 'e', 'f', 'g', 'h', 'a'])
  expect(groups.flat().filter((item) => item === 'a')).toHaveLength(3)
})

test('fewer than one group may have wait for the one that is under way', async () => {
  const groups: number[][] = []
  const submit = createBatchers(
    async (_key: string, items: number[]) => {
      groups.push(items)
      await new Promise((resolve) => setImmediate(resolve))
      return items
    },
    3,
    { atOnce: 3 },
  )
  const first = submit('key', 1)
  await new Promise((resolve) => setImmediate(resolve))
  expect(await Promise.all([first, submit('key', 2), submit('key', 3)])).toEqual([1, 2, 3])
  expect(groups).toEqual([[1], [2, 3]])
})

test('a group that takes long holds the next ones back no longer, up to the number that may be under way', async () => {
  const groups: number[][] = []
  const releases: (() => void)[] = []
  let told = () => {}
  const submit = createBatchers(
    async (_key: string, items: number[]) => {
      groups.push(items)
      told()
      await new Promise<void>((resolve) => releases.push(resolve))
      return items
    },
    10,
    { atOnce: 3, slow_ms: 5 },
  )
  /** Resolves when so many groups have begun. */
  const begun = (count: number) =>
    new Promise<void>((resolve) => {
      told = () => {
        if (groups.length === count) resolve()
      }
      told()
    })
  const all = [submit('key', 1)]
  await begun(1)
  all.push(submit('key', 2), submit('key', 3))
  await begun(2)
  all.push(submit('key', 4))
  await begun(3)
  all.push(submit('key', 5))
  const later = performance.now() + 20
  while (performance.now() < later) await new Promise((resolve) => setImmediate(resolve))
  expect(groups).toEqual([[1], [2, 3], [4]])
  releases[0]?.()
  await begun(4)
  for (const release of releases) release()
  expect(await Promise.all(all)).toEqual([1, 2, 3, 4, 5])
  expect(groups).toEqual([[1], [2, 3], [4], [5]])
})

test('when the last of several groups fails by what is that of all, those that wait fail with it', async () => {
  const releases: ((err: Error) => void)[] = []
  const submit = createBatchers(
    (_key: string, _items: number[]) =>
      new Promise<number[]>((_resolve, reject) => {
        releases.push(reject)
      }),
    2,
    { atOnce: 2, failsAll: () => true },
  )
  const settled = Promise.allSettled([1, 2, 3, 4, 5, 6, 7].map((item) => submit('a', item)))
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  for (let n = 0; n < 5; n++) await turn()
  expect(releases).toHaveLength(2)
  for (const release of [...releases]) {
    release(new Error('gone'))
    for (let n = 0; n < 3; n++) await turn()
  }
  expect(releases).toHaveLength(2)
  expect((await settled).map(({ status }) => status)).toEqual(Array(7).fill('rejected'))
})

test('while another group is under way a failure that is that of all leaves those that wait to it', async () => {
  const releases: ((err?: Error) => void)[] = []
  const submit = createBatchers(
    (_key: string, items: number[]) =>
      new Promise<number[]>((resolve, reject) => {
        releases.push((err) => (err ? reject(err) : resolve(items)))
      }),
    2,
    { atOnce: 2, failsAll: () => true },
  )
  const all = [1, 2, 3, 4, 5, 6].map((item) => submit('key', item))
  const settled = Promise.allSettled(all)
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  for (let n = 0; n < 5; n++) await turn()
  expect(releases).toHaveLength(2)
  releases[0]?.(new Error('gone'))
  for (let n = 0; n < 3; n++) await turn()
  // They go with the other group's line, once that has its answer.
  for (let from = 1; from < 3; from++) {
    releases[from]?.()
    for (let n = 0; n < 3; n++) await turn()
  }
  expect((await settled).map(({ status }) => status)).toEqual([
    'rejected',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ])
})
