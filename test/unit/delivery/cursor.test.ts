// From which id on a lane looks for arrivals, and when it has to search.
import { expect, test } from 'vitest'
import { ARRIVALS_MAX, type Arrivals } from '../../../db/deliveries/lines.ts'
import { createCursor } from '../../../delivery/lane/cursor.ts'

const row = (id: number) => ({
  class: 0,
  workspace_id: 'ws_1',
  shard: 1,
  destination: 'd.test',
  at: 0,
  id,
})
/** A look at a moment at which transactions from `xmin` on may be under way. */
const look = (top: number, xmin: number, xmax: number, rows = 0): Arrivals => ({
  rows: Array.from({ length: rows }, (_, i) => row(i + 1)),
  top,
  xmin,
  xmax,
})

test('a search is due at first, once what was under way then has ended', () => {
  const cursor = createCursor()
  expect(cursor.next().after).toBe(Number.MAX_SAFE_INTEGER)
  expect(cursor.learn(look(50, 7, 9), 0)).toBe(false)
  expect(cursor.next()).toEqual({ after: 50, read: 50, xmin: 7 })
  expect(cursor.learn(look(60, 8, 12), 10)).toBe(false)
  expect(cursor.learn(look(60, 9, 12), 20), 'all that had begun by the first look').toBe(true)
  expect(cursor.learn(look(60, 12, 12), 30), 'once').toBe(false)
})

test('ids are looked at again until all that may have written them has ended, and a moment longer', () => {
  const cursor = createCursor()
  cursor.learn(look(50, 9, 9), 0)
  cursor.learn(look(80, 9, 14), 100)
  expect(cursor.next()).toEqual({ after: 50, read: 80, xmin: 9 })
  cursor.learn(look(95, 13, 20), 400)
  expect(cursor.next().after, 'one that had begun is under way').toBe(50)
  cursor.learn(look(95, 14, 20), 450)
  expect(cursor.next()).toEqual({ after: 80, read: 95, xmin: 14 })
  cursor.learn(look(95, 20, 20), 550)
  expect(cursor.next().after, 'it may have got its id a moment before it began').toBe(80)
  cursor.learn(look(95, 20, 20), 650)
  expect(cursor.next().after).toBe(95)
})

test('a look that was cut short goes on behind its end', () => {
  const cursor = createCursor()
  cursor.learn(look(0, 9, 9), 0)
  cursor.learn(look(5_000, 9, 12), 100)
  cursor.learn(look(9_000, 12, 12, ARRIVALS_MAX), 400)
  expect(cursor.next()).toEqual({ after: 1_000, read: 1_000, xmin: 12 })
})

test('a transaction that does not end holds up ten seconds, and is searched for when it has', () => {
  const cursor = createCursor()
  cursor.learn(look(50, 9, 9), 0)
  for (let n = 1; n <= 1_000; n++) {
    expect(cursor.learn(look(50 + n, 9, 10 + n), n * 50)).toBe(false)
  }
  expect(cursor.next().after).toBe(849)
  expect(cursor.learn(look(1_060, 1_011, 1_011), 60_000)).toBe(true)
})

test('a server that gives lower ids, or a fault before, begins all anew', () => {
  const cursor = createCursor()
  cursor.learn(look(50, 9, 9), 0)
  cursor.learn(look(80, 9, 9), 1_000)
  expect(cursor.learn(look(70, 9, 9), 1_100)).toBe(true)
  expect(cursor.next()).toEqual({ after: 70, read: 70, xmin: 9 })
  cursor.forget()
  expect(cursor.next().after).toBe(Number.MAX_SAFE_INTEGER)
  expect(cursor.learn(look(90, 9, 9), 1_200)).toBe(true)
})
