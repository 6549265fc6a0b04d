// Bytes in use at a time, by owner: shares, turns, and work that is larger than what there is.
import { expect, test } from 'vitest'
import { createFairBudget } from '../../../runtime/fairBudget.ts'

/** A budget, and what has begun in it and has not been ended. */
function open(bytesMax = 10, ownerBytesMax = 6) {
  const run = createFairBudget({ bytesMax, ownerBytesMax })
  const ends = new Map<string, () => void>()
  const settled = async () => {
    for (let i = 0; i < 10; i++) await Promise.resolve()
  }
  return {
    run,
    async begin(...all: string[]) {
      for (const one of all) {
        const [owner = '', bytes] = one.split(' ')
        void run(owner, Number(bytes), () => new Promise<void>((end) => ends.set(one, end)))
      }
      await settled()
      return [...ends.keys()]
    },
    async end(one: string) {
      ends.get(one)?.()
      ends.delete(one)
      await settled()
      return [...ends.keys()]
    },
  }
}

test('one owner has its share, in its order, and leaves the rest to others', async () => {
  const { begin, end } = open()
  expect(await begin('a 4', 'a 3', 'a 1')).toEqual(['a 4'])
  expect(await begin('b 5')).toEqual(['a 4', 'b 5'])
  expect(await end('a 4')).toEqual(['b 5', 'a 3', 'a 1'])
})

test('owners take turns, however many one has waiting', async () => {
  const { begin, end } = open(2, 2)
  await begin('a 2', 'a 1', 'a 1.0', 'a 1.00')
  expect(await begin('b 1')).toEqual(['a 2'])
  expect(await end('a 2')).toEqual(['a 1', 'b 1'])
})

test('work larger than a share, or than all, runs when nothing else of that is under way', async () => {
  const { begin, end } = open()
  await begin('a 1')
  expect(await begin('a 8', 'b 20', 'c 1')).toEqual(['a 1'])
  expect(await end('a 1')).toEqual(['a 8'])
  expect(await end('a 8')).toEqual(['b 20'])
  expect(await end('b 20')).toEqual(['c 1'])
})

test('work that throws gives its bytes back', async () => {
  const run = createFairBudget({ bytesMax: 1, ownerBytesMax: 1 })
  const failing = run('a', 1, () => Promise.reject(new Error('failed')))
  const next = run('a', 1, async () => 'ran')
  await expect(failing).rejects.toThrow('failed')
  expect(await next).toBe('ran')
})

test('who leaves the line lets those behind begin, and is told why', async () => {
  const { run, begin, end } = open(10, 10)
  await begin('a 6')
  const leaving = new AbortController()
  const left = run('a', 6, async () => 'begun', leaving.signal)
  expect(await begin('a 4')).toEqual(['a 6'])
  leaving.abort(new Error('left'))
  await expect(left).rejects.toThrow('left')
  expect(await begin()).toEqual(['a 6', 'a 4'])
  await expect(run('a', 1, async () => 'begun', leaving.signal)).rejects.toThrow('left')
  await end('a 6')
  await end('a 4')
  expect(await run('a', 10, async () => 'all')).toBe('all')
})
