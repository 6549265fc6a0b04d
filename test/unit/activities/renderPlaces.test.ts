// How many segments of one workspace are with the renderer at once: a few, and the others wait only behind quick ones.
import { expect, test } from 'vitest'
import { createRenderPlaces } from '../../../activities/segment/renderPlaces.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'

const [a, b] = ['ws_a', 'ws_b'] as [WorkspaceId, WorkspaceId]
const waits = async (taking: Promise<unknown>) =>
  (await Promise.race([taking, Promise.resolve('still')])) === 'still'

test('a workspace has its places; who comes then waits for one of them, and another workspace does not', async () => {
  const places = createRenderPlaces({ each: 2, wait_ms: 60_000 })
  const [first] = [await places.take(a), await places.take(a)]
  const [third, fourth] = [places.take(a), places.take(a)]
  expect([await waits(third), await waits(fourth)]).toEqual([true, true])
  expect(await places.take(b)).not.toBeNull()
  first?.()
  const entered = await third
  expect(entered).not.toBeNull()
  expect(await waits(fourth)).toBe(true)
  entered?.()
  expect(await fourth).not.toBeNull()
})

test('behind one that takes long nobody waits, until it has left', async () => {
  const places = createRenderPlaces({ each: 1, wait_ms: 20 })
  const slow = await places.take(a)
  // This one waits its time, and those after it do not wait at all.
  expect(await places.take(a)).toBeNull()
  expect(await waits(places.take(a))).toBe(false)
  slow?.()
  const next = await places.take(a)
  expect(next).not.toBeNull()
  next?.()
})

test('as many as are inside may wait, and no more', async () => {
  const places = createRenderPlaces({ each: 2, wait_ms: 60_000 })
  for (let i = 0; i < 2; i++) expect(await places.take(a)).not.toBeNull()
  const waiting = [places.take(a), places.take(a)]
  expect(places.isFull(a)).toBe(true)
  expect(places.isFull(b)).toBe(false)
  expect(await places.take(a)).toBeNull()
  for (const one of waiting) expect(await waits(one)).toBe(true)
})

test('they come again at the pace at which places become free, and the last of many not hours later', async () => {
  const bounds = { each: 1, again_ms: 0, apart_ms: 1, dense_after_ms: 10_000, dense_ms: 3 }
  const places = createRenderPlaces(bounds)
  const first = places.retryAfter_ms(a)
  // Each is inside for some 50 ms.
  for (let n = 0; n < 20; n++) {
    const leave = await places.take(a)
    const began = performance.now()
    while (performance.now() - began < 50);
    leave?.()
  }
  const paced = Array.from({ length: 100 }, () => places.retryAfter_ms(a))
  const apart = ((paced.at(-1) ?? 0) - (paced[0] ?? 0)) / 99
  expect(first).toBeLessThan(50)
  expect(apart).toBeGreaterThan(35)
  const many = Array.from({ length: 10_000 }, () => places.retryAfter_ms(a))
  expect(many.at(-1)).toBeGreaterThan(10_000)
  expect(many.at(-1)).toBeLessThan(10_000 + 10_000 * 3 + 1_000)
})

test('however many are turned away, so many a second of one workspace come again', () => {
  const places = createRenderPlaces({ again_ms: 4_000, apart_ms: 50 })
  const after = Array.from({ length: 10_000 }, () => places.retryAfter_ms(a))
  expect(Math.min(...after)).toBeGreaterThanOrEqual(3_999)
  expect(Math.max(...after)).toBeGreaterThan(490_000)
  expect(places.retryAfter_ms(b)).toBeLessThan(4_100)
})
