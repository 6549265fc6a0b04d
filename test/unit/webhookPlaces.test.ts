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
  expect([queued.limit(true), queued.limit(false)]).toEqual([16, 2])
  queued.add(100)
  expect([queued.limit(true), queued.limit(false)]).toEqual([1, 1])
  queued.add(-1)
  expect([queued.limit(true), queued.limit(false)]).toEqual([16, 2])
})
