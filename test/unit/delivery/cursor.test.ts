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
const look = (top: number, xmin: number, xmax: number, over: Partial<Arrivals> = {}): Arrivals => ({
  fresh: [],
  late: [],
  top,
  snapshot: { xmin, xmax, xip: [] },
  ...over,
})
const rows = (count: number, from = 1) => Array.from({ length: count }, (_, i) => row(from + i))

test('a search is due at first, and once what the former owner did then has ended', () => {
  const cursor = createCursor()
  expect(cursor.next().after).toBe(Number.MAX_SAFE_INTEGER)
  expect(cursor.learn(look(50, 7, 9), 0)).toBe(true)
  expect(cursor.next()).toMatchObject({ after: 50, seenTo: 50, snapshot: { xmin: 7 } })
  expect(cursor.learn(look(60, 9, 12), 1_000)).toBe(false)
  expect(cursor.learn(look(60, 11, 15), 3_000)).toBe(false)
  expect(cursor.learn(look(60, 14, 19), 3_100), 'one that had begun is under way').toBe(false)
  expect(cursor.learn(look(60, 15, 19), 3_200)).toBe(true)
  expect(cursor.learn(look(60, 19, 19), 3_300), 'once').toBe(false)
})

test('ids are looked at again until all that may have written them has ended, and a moment longer', () => {
  const cursor = createCursor()
  cursor.learn(look(50, 9, 9), 0)
  cursor.learn(look(80, 9, 14), 100)
  expect(cursor.next()).toMatchObject({ after: 50, seenTo: 80, snapshot: { xmin: 9, xmax: 14 } })
  cursor.learn(look(95, 13, 20), 400)
  expect(cursor.next().after, 'one that had begun is under way').toBe(50)
  cursor.learn(look(95, 14, 20), 450)
  expect(cursor.next()).toMatchObject({ after: 80, seenTo: 95 })
  cursor.learn(look(95, 20, 20), 550)
  expect(cursor.next().after, 'it may have got its id a moment before it began').toBe(80)
  cursor.learn(look(95, 20, 20), 650)
  expect(cursor.next().after).toBe(95)
})

test('a look that was cut short goes on behind its end', () => {
  const cursor = createCursor()
  cursor.learn(look(0, 9, 9), 0)
  cursor.learn(look(9_000, 12, 12, { fresh: rows(ARRIVALS_MAX) }), 400)
  expect(cursor.next()).toMatchObject({ after: 0, seenTo: 1_000 })
  cursor.learn(look(9_000, 12, 12, { fresh: rows(ARRIVALS_MAX, 1_001) }), 500)
  expect(cursor.next()).toMatchObject({ seenTo: 2_000 })
  cursor.learn(look(9_000, 12, 12), 600)
  expect(cursor.next()).toMatchObject({ seenTo: 9_000 })
  expect(
    cursor.learn(look(9_000, 12, 12, { late: rows(ARRIVALS_MAX) }), 700),
    'too many late ones',
  ).toBe(true)
})

test('what was left to a search is behind the next look', () => {
  const cursor = createCursor()
  cursor.learn(look(0, 9, 9), 0)
  const many = { fresh: rows(ARRIVALS_MAX) }
  expect(cursor.learn(look(9_000, 12, 12, many), 400, true)).toBe(true)
  expect(cursor.next()).toMatchObject({ after: 0, seenTo: 9_000 })
  const few = { fresh: rows(ARRIVALS_MAX - 1, 9_001) }
  expect(cursor.learn(look(9_999, 12, 12, few), 500, true), 'nothing was left').toBe(false)
})

test('a transaction that does not end holds ids up for ten seconds, and is searched for when it has', () => {
  const cursor = createCursor()
  cursor.learn(look(50, 9, 9), 0)
  cursor.learn(look(60, 9, 10), 4_000)
  expect(cursor.learn(look(60, 10, 10), 4_100), 'what the former owner did').toBe(true)
  for (let n = 1; n <= 30; n++) {
    expect(cursor.learn(look(60 + n, 10, 11 + n), 5_000 + n * 1_000)).toBe(false)
  }
  expect(cursor.next().after).toBe(80)
  // What ended by then had written nothing that was passed.
  expect(cursor.learn(look(95, 11, 50), 36_000)).toBe(false)
  expect(cursor.learn(look(95, 12, 50), 36_100)).toBe(true)
})

test('of two transactions that end one after the other, each later than ten seconds, both are searched for', () => {
  const cursor = createCursor()
  cursor.learn(look(0, 300, 300), 0)
  expect(cursor.learn(look(0, 600, 600), 3_000), 'what the former owner did').toBe(true)
  /** A look each second while they are under way: the first is 700, and the second 2,200 from 19 s on. */
  const searchedAt: number[] = []
  const looks = (from_s: number, to_s: number, xmin?: number) => {
    for (let s = from_s; s < to_s; s++) {
      const xmax = 300 + s * 100
      if (cursor.learn(look(s * 100, xmin ?? xmax, xmax), s * 1_000)) searchedAt.push(s)
    }
  }
  looks(4, 44, 700)
  expect(searchedAt).toEqual([])
  looks(44, 45, 2_200)
  expect(searchedAt, 'the first has ended').toEqual([44])
  looks(45, 80)
  expect(searchedAt, 'the second has ended').toEqual([44, 45])
})

test('what the former owner did is searched for, also where another transaction is waited for then', () => {
  const cursor = createCursor()
  cursor.learn(look(50, 9, 9), 0)
  cursor.learn(look(60, 9, 12), 100)
  // Nobody looked for a while: both are found at once.
  expect(cursor.learn(look(70, 11, 20), 12_000)).toBe(false)
  expect(cursor.learn(look(70, 12, 20), 12_100)).toBe(true)
  expect(cursor.learn(look(70, 20, 20), 12_200)).toBe(true)
})

test('a server that gives lower ids, or a fault before, begins all anew', () => {
  const cursor = createCursor()
  cursor.learn(look(50, 9, 9), 0)
  cursor.learn(look(80, 9, 9), 1_000)
  expect(cursor.learn(look(70, 9, 9), 1_100)).toBe(true)
  expect(cursor.next()).toMatchObject({ after: 70, seenTo: 70 })
  cursor.forget()
  expect(cursor.next().after).toBe(Number.MAX_SAFE_INTEGER)
  expect(cursor.learn(look(90, 9, 9), 1_200)).toBe(true)
})
