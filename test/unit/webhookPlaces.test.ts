// What one worker reads and has under way for webhooks: no workspace takes all of it.
import { expect, test } from 'vitest'
import { createWebhookPlaces } from '../../delivery/webhooks/places.ts'
import { createQueuedBytes } from '../../delivery/webhooks/queuedBytes.ts'

const takeAll = (
  places: ReturnType<typeof createWebhookPlaces>,
  id: string,
  isHealthy: boolean,
) => {
  const taken: (() => void)[] = []
  for (let place = places.take(isHealthy, id); place; place = places.take(isHealthy, id)) {
    taken.push(place)
  }
  return taken
}

test.each([
  [true, [500, 250, 125]],
  [false, [350, 175, 88]],
])('a workspace leaves as many places free as it has (healthy: %s)', (isHealthy, counts) => {
  const places = createWebhookPlaces()
  const kind = isHealthy ? 'healthy' : 'others'
  const taken = ['a', 'b', 'c'].map((id) => takeAll(places, id, isHealthy))
  expect(taken.map(({ length }) => length)).toEqual(counts)
  expect(places.free()[kind].full).toEqual(['a', 'b', 'c'])
  for (const giveBack of taken.flat()) {
    giveBack()
    giveBack()
  }
  expect(places.free()).toEqual({
    healthy: { free: 1_000, full: [] },
    others: { free: 700, full: [] },
  })
})

test('eight are for a workspace where few are left', () => {
  const places = createWebhookPlaces(10, 10)
  expect(takeAll(places, 'a', true)).toHaveLength(8)
  expect(takeAll(places, 'b', true)).toHaveLength(2)
})

test('few bodies are read of an endpoint, and one at a time when all are large', () => {
  const queued = createQueuedBytes(100)
  const first = { fresh: 0, length: 0, last: 0 }
  const both = () => [queued.limit(true, first), queued.limit(false, first)]
  expect(both()).toEqual([16, 2])
  queued.add(100)
  expect(both()).toEqual([1, 1])
  queued.add(-1)
  expect(both()).toEqual([16, 2])
})

test('more are read of an endpoint that takes them fast, unless they are large', () => {
  const queued = createQueuedBytes()
  const limits = [
    { fresh: 3, length: 500, last: 250 },
    { fresh: 50, length: 500, last: 250 },
    { fresh: 5_000, length: 500, last: 250 },
    { fresh: 5_000, length: 500, last: 20 },
    { fresh: 5_000, length: 500, last: 1 },
    { fresh: 5_000, length: 64 * 1024, last: 250 },
    { fresh: 5_000, length: 1_000_000, last: 250 },
  ].map((pace) => queued.limit(true, pace))
  expect(limits).toEqual([16, 50, 250, 40, 16, 4, 1])
  expect(queued.limit(false, { fresh: 5_000, length: 500, last: 250 })).toBe(2)
})
