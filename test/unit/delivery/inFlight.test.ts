// Which deliveries take the places of a lane: slow ones do not, up to a bound, nor those that wait for their settlement alone.
import { expect, test } from 'vitest'
import type { ClaimedDelivery } from '../../../db/deliveries/claim.ts'
import { createAttempts } from '../../../delivery/lane/attempts.ts'
import { createInFlight } from '../../../delivery/lane/inFlight.ts'

test('slow deliveries do not count, up to a bound', async () => {
  let time = 0
  const inFlight = createInFlight<{ id: number }>({ capacity: 10, slowMax: 15 }, () => time)
  const ends: (() => void)[] = []
  const begin = (from: number, count: number) => {
    for (let id = from; id < from + count; id++) {
      void inFlight.add({ id }, () => new Promise((resolve) => ends.push(resolve)))
    }
  }
  begin(0, 10)
  expect(inFlight.free()).toBe(0)
  time += 1_000
  expect(inFlight.free()).toBe(10)
  begin(10, 10)
  expect(inFlight.free()).toBe(0)
  time += 1_000
  expect(inFlight.free(), 'twenty are slow, five too many').toBe(5)
  expect(inFlight.items().map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, id) => id))
  for (const end of ends) end()
  await inFlight.settled()
  expect([inFlight.free(), inFlight.items()]).toEqual([10, []])
})

test('with a relay all deliveries under way count', () => {
  let time = 0
  const inFlight = createInFlight<{ id: number }>({ capacity: 3, slowMax: 0 }, () => time)
  for (const id of [1, 2, 3]) void inFlight.add({ id }, () => new Promise(() => {}))
  time += 60_000
  expect(inFlight.free()).toBe(0)
})

test('what was sent does not count while it is settled, up to a bound, and is under way until then', async () => {
  const inFlight = createInFlight<{ id: number }>({ capacity: 3, slowMax: 0, sentMax: 2 })
  const items = [1, 2, 3].map((id) => ({ id }))
  const ends: (() => void)[] = []
  for (const item of items) {
    void inFlight.add(item, () => new Promise((resolve) => ends.push(resolve)))
  }
  expect(items.map((item) => inFlight.sent(item))).toEqual([true, true, false])
  expect(inFlight.free()).toBe(2)
  expect(new Set(inFlight.items())).toEqual(new Set(items))
  for (const end of ends) end()
  await inFlight.settled()
  expect([inFlight.free(), inFlight.items()]).toEqual([3, []])
})

test('an attempt gives its place and its room back once: when its mail was sent, or else when it ends', async () => {
  const inFlight = createInFlight<ClaimedDelivery>({ capacity: 3, slowMax: 0, sentMax: 1 })
  const told: string[] = []
  const works: { id: number; sent: () => void; end: () => void }[] = []
  const attempts = createAttempts({
    inFlight,
    rooms: { began: () => {}, ended: (name) => told.push(name) > 0 },
    deliver: ({ id }, sent) => new Promise((end) => works.push({ id, sent, end })),
    release: async () => {},
    onEnded: () => {},
    quietly: async (_, work) => void (await work()),
  })
  const claimed = ['a', 'b', 'c'].map((destination, i) => ({ id: i + 1, destination }))
  attempts.begin(claimed as unknown as ClaimedDelivery[])
  for (const { sent } of works.slice(0, 2)) sent()
  expect(told, 'only one may wait for its settlement without a place').toEqual(['a'])
  for (const { end } of works) end()
  await inFlight.settled()
  await new Promise(setImmediate)
  expect(told.sort()).toEqual(['a', 'b', 'c'])
})
