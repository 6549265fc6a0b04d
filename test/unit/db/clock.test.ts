// The clock of a worker: that of its machine where it is right, else that of Postgres, and no jump in between.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createDatabaseClock } from '../../../db/clock.ts'

const START = Date.UTC(2026, 2, 10, 12)
const HOUR_MS = 3_600_000

/** What the machine is ahead of Postgres, ms. */
let ahead_ms = 0
let heard: number[] = []
const clock = () => createDatabaseClock((one) => void heard.push(one))
const spare = { query: async () => ({ rows: [{ now: new Date(Date.now() - ahead_ms) }] }) }

beforeEach(() => {
  vi.useFakeTimers({ now: START })
  ahead_ms = 0
  heard = []
})
afterEach(() => vi.useRealTimers())

/** The machine's clock is set to another time; nothing else moves. */
function jump(by_ms: number): void {
  ahead_ms += by_ms
  vi.setSystemTime(Date.now() + by_ms)
}

test('is that of the machine before Postgres has answered, and where it is right', async () => {
  const one = clock()
  expect(one.now().getTime()).toBe(START)
  ahead_ms = 4_000
  await one.follow(spare)
  expect(one.now().getTime()).toBe(START)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(one.now().getTime()).toBe(START + 1_000)
  expect(heard).toEqual([])
  one.stop()
})

test.each([HOUR_MS, -HOUR_MS])(
  'does not follow a jump of %i ms, and says so once',
  async (by_ms) => {
    const one = clock()
    await one.follow(spare)
    jump(by_ms)
    expect(one.now().getTime()).toBe(START)
    await vi.advanceTimersByTimeAsync(25_000)
    expect(one.now().getTime()).toBe(START + 25_000)
    expect(heard).toEqual([by_ms])
    jump(-by_ms)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(one.now().getTime()).toBe(START + 35_000)
    expect(heard).toEqual([by_ms, 0])
    one.stop()
  },
)

test('is right from the start on a machine whose clock is not', async () => {
  ahead_ms = HOUR_MS
  const one = clock()
  await one.follow(spare)
  expect(one.now().getTime()).toBe(START - HOUR_MS)
  one.stop()
})

test('goes on while Postgres is away', async () => {
  const one = clock()
  ahead_ms = HOUR_MS
  let isAway = false
  const away = () => Promise.reject(new Error('away'))
  await one.follow({ query: () => (isAway ? away() : spare.query()) })
  isAway = true
  await vi.advanceTimersByTimeAsync(60_000)
  expect(one.now().getTime()).toBe(START - HOUR_MS + 60_000)
  one.stop()
})
