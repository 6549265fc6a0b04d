// How a lane divides its places: slow deliveries stop counting, and no shard fills a claim alone.
import { expect, test } from 'vitest'
import { createInFlight } from '../../../delivery/lane/inFlight.ts'
import { createShares } from '../../../delivery/lane/shares.ts'
import { createWaitingLines } from '../../../delivery/lane/waitingLines.ts'

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

test('each claim starts at a random shard and reads all shards of the lane once', () => {
  const shares = createShares({ from: 8, to: 12 }, () => 0.6)
  expect(shares.next(100).shards).toEqual([10, 11, 8, 9])
})

test('a shard that fills its share gets more while the others leave room', () => {
  const shares = createShares({ from: 0, to: 64 }, () => 0)
  const rowsOf = (count: number) => Array.from({ length: count }, () => ({ shard: 5 }))
  const limit = 300
  const seen: number[] = []
  for (let claim = 0; claim < 6; claim++) {
    const { perShard } = shares.next(limit)
    seen.push(perShard)
    expect(shares.learn(rowsOf(perShard), limit, perShard), 'more is due').toBe(true)
  }
  expect(seen).toEqual([19, 38, 76, 152, 300, 300])
  expect(shares.learn([...rowsOf(299), { shard: 6 }], limit, 300)).toBe(true)
  expect(shares.next(limit).perShard, 'another wants places too').toBe(152)
  expect(shares.learn(rowsOf(3), limit, 152)).toBe(false)
  expect(shares.next(limit).perShard).toBe(19)
})

test('the only shard of a lane gives all that is asked for', () => {
  const { perShard } = createShares({ from: 63, to: 64 }).next(500)
  expect(perShard).toBe(500)
})

test('deliveries of a busy domain come back one after the other, as fast as the domain accepts mail', () => {
  const lines = createWaitingLines(() => 0.5)
  const waits = [1, 2, 3].map(() => lines.join('slow.test', 1_000, 0))
  expect(waits).toEqual([1_000, 1_020, 1_040])
  expect(lines.join('other.test', 1_500, 0), 'each domain has a line of its own').toBe(1_500)
  // The domain accepts one every 5 ms: the line moves up.
  for (let time = 0; time <= 500; time += 5) lines.took('slow.test', time)
  const first = lines.join('slow.test', 0, 500)
  const next = lines.join('slow.test', 0, 500)
  expect(next - first).toBeGreaterThanOrEqual(5)
  expect(next - first).toBeLessThanOrEqual(6)
})

test('nobody waits longer in a line than ten minutes, or than the destination asked for', () => {
  const lines = createWaitingLines(() => 0.5)
  const waits = Array.from({ length: 50_000 }, () => lines.join('huge.test', 1_000, 0))
  expect(Math.max(...waits)).toBeLessThanOrEqual(600_000)
  expect(waits.filter((wait_ms) => wait_ms === 300_500).length).toBeGreaterThan(1_000)
  expect(lines.join('resting.test', 3_600_000, 0)).toBe(3_600_000)
})
