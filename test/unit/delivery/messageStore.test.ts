// Composed messages wait in memory or in files: the same bytes either way, counted, and gone when nobody needs them.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createHeavyPlaces, NoHeavyPlace } from '../../../delivery/compose/heavyPlaces.ts'
import { createMessageStore } from '../../../delivery/compose/messageStore.ts'
import { dotStuffed } from '../../../mail/smtp/dots.ts'
import type { StoredMessage } from '../../../mail/transport.ts'
import { createFairBudget } from '../../../runtime/fairBudget.ts'

const folder = mkdtempSync(join(tmpdir(), 'dripline-store-'))
const limits = { memoryMax: 1_000, filesMax: 700_000 }

async function read(message: StoredMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of message.parts()) parts.push(part)
  return Buffer.concat(parts)
}

test('what does not fit into memory stands in a file without a name, with the same bytes', async () => {
  const store = createMessageStore(folder, limits)
  const dots = Buffer.from(`.one\r\n..two\r\n${'x'.repeat(900)}`)
  const large = Buffer.concat([randomBytes(600_000), Buffer.from('\r\n.\r\nend')])
  const expected = [dots, large].map((bytes) => Buffer.concat(dotStuffed(bytes)))
  const kept = [await store.keep(dots, 'ws_1'), await store.keep(large, 'ws_1')]
  expect(store.used()).toEqual({ memory: dots.length, files: large.length })
  expect(store.isFull('ws_2', 1)).toBe(false)
  expect(readdirSync(folder), 'nothing is left when the process dies').toEqual([])
  const held = kept.map((one) => one.hold())
  for (const [i, { message }] of held.entries()) {
    expect((await read(message)).equals(expected[i] as Buffer)).toBe(true)
    expect((await read(message)).equals(expected[i] as Buffer), 'once more').toBe(true)
  }
  expect(held.map(({ message }) => message.length)).toEqual([dots.length, large.length])
  const more = await store.keep(Buffer.alloc(200_000), 'ws_2')
  expect(store.isFull('ws_3', 1)).toBe(true)
  for (const { release } of [...held, more.hold()]) release()
  expect(store.used()).toEqual({ memory: 0, files: 0 })
})

test('a workspace has an eighth of the files at most; one message that is larger goes alone', async () => {
  const store = createMessageStore(folder, { memoryMax: 0, filesMax: 800 })
  const kept = [await store.keep(Buffer.alloc(60), 'ws_1')]
  expect([40, 41].map((bytes) => store.isFull('ws_1', bytes))).toEqual([false, true])
  expect(store.isFull('ws_2', 300), 'a large one alone').toBe(false)
  kept.push(await store.keep(Buffer.alloc(300), 'ws_2'))
  expect(store.isFull('ws_2', 1)).toBe(true)
  expect(store.isFull('ws_3', 100)).toBe(false)
  for (const { release } of kept.map((one) => one.hold())) release()
  expect([store.isFull('ws_1', 41), store.isFull('ws_2', 1)]).toEqual([false, false])
})

test('a message that several deliveries write is kept until the last of them has written it', async () => {
  const store = createMessageStore(folder, limits)
  const kept = await store.keep(Buffer.from('a\r\n\r.b'), 'ws_1')
  const [one, two] = [kept.hold(), kept.hold()]
  expect(one.message.hasLoneDot).toBe(true)
  one.message.written()
  one.release()
  expect([kept.isGone(), store.used().memory]).toEqual([false, 6])
  two.release()
  expect([kept.isGone(), store.used().memory]).toEqual([true, 0])
})

test('bytes that wait to be composed are let in by their order, and a failure gives them back', async () => {
  const fair = createFairBudget({ bytesMax: 10, ownerBytesMax: 10 })
  const budget = <T>(bytes: number, work: () => Promise<T>) => fair('ws_1', bytes, work)
  const order: string[] = []
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const first = budget(8, () => ended)
  const second = budget(5, async () => void order.push('second')).catch(() => undefined)
  const third = budget(1, async () => void order.push('third'))
  expect(order).toEqual([])
  end()
  await Promise.all([first, second, third])
  expect(order).toEqual(['second', 'third'])
  await expect(budget(10, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await budget(10, async () => void order.push('last'))
  expect(order.at(-1)).toBe('last')
})

test('neither a workspace nor a destination takes all places', () => {
  const take = createHeavyPlaces({ workspaceMax: 3, destinationMax: 2 })
  const back = [take('ws_1', 'one.test'), take('ws_1', 'one.test')]
  expect(() => take('ws_2', 'one.test')).toThrow(NoHeavyPlace)
  back.push(take('ws_1', 'two.test'))
  expect(() => take('ws_1', 'three.test')).toThrow(NoHeavyPlace)
  back.push(take('ws_2', 'two.test'))
  for (const giveBack of back) giveBack()
  expect([1, 2].map(() => take('ws_1', 'one.test'))).toHaveLength(2)
})

test('of the places of a destination a workspace leaves some to others, once others have asked', () => {
  const take = createHeavyPlaces({ workspaceMax: 50, destinationMax: 10 })
  const times = (count: number, workspaceId: string) =>
    Array.from({ length: count }, () => take(workspaceId, 'one.test'))
  const back = times(10, 'ws_1')
  expect(() => take('ws_2', 'one.test')).toThrow(NoHeavyPlace)
  back.pop()?.()
  expect(() => take('ws_1', 'one.test'), 'it is kept for the other').toThrow(NoHeavyPlace)
  back.push(take('ws_2', 'one.test'))
  for (const giveBack of back.splice(0, 9)) giveBack()
  back.push(...times(5, 'ws_1'))
  expect(() => take('ws_1', 'one.test')).toThrow(NoHeavyPlace)
  back.push(take('ws_2', 'one.test'), take('ws_3', 'one.test'))
  for (const giveBack of back) giveBack()
  expect(times(10, 'ws_1'), 'all for the only one').toHaveLength(10)
})
