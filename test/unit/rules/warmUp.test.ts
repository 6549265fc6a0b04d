// The warm-up ladder of a new domain: for any demand on any days, no day gives more than its step.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type DayPlaces,
  dayOf,
  findPlaces,
  isLadderOver,
  placeTime,
  warmUpLadder,
} from '../../../rules/mail/warmUp.ts'

const MONDAY = '2026-03-02'
const HOUR_MS = 3_600_000
const dayAfter = (days: number) => dayOf(Date.parse(MONDAY) + days * 24 * HOUR_MS)

function add(days: DayPlaces[], placements: { day: string; count: number }[]): DayPlaces[] {
  const sums = new Map(days.map((row) => [row.day, row.reserved]))
  for (const { day, count } of placements) sums.set(day, (sums.get(day) ?? 0) + count)
  return [...sums].map(([day, reserved]) => ({ day, reserved }))
}

test('the ladder is 150, 250, 400, 700, 1000, 1500, 2000, and doubles up to 128,000', () => {
  expect(warmUpLadder.slice(0, 7)).toEqual([150, 250, 400, 700, 1_000, 1_500, 2_000])
  const doubled = warmUpLadder.slice(6)
  for (const [i, step] of doubled.entries()) expect(step).toBe(2_000 * 2 ** i)
  expect(warmUpLadder.at(-1)).toBe(128_000)
})

test('mail that does not fit today goes to the next days, each a step higher', () => {
  expect(findPlaces([], MONDAY, 500)).toEqual([
    { day: MONDAY, from: 0, count: 150, size: 150 },
    { day: dayAfter(1), from: 0, count: 250, size: 250 },
    { day: dayAfter(2), from: 0, count: 100, size: 400 },
  ])
})

test('days without mail do not count as steps', () => {
  const days = [{ day: dayAfter(-30), reserved: 150 }]
  expect(findPlaces(days, MONDAY, 300).map(({ count }) => count)).toEqual([250, 50])
})

test('after the last step there is no limit, and the warm-up is over', () => {
  const days = warmUpLadder.map((reserved, i) => ({ day: dayAfter(i - 13), reserved }))
  expect(isLadderOver(days.slice(1), MONDAY)).toBe(false)
  expect(isLadderOver(days, MONDAY)).toBe(true)
  expect(findPlaces(days, MONDAY, 5_000_000)).toMatchObject([{ day: MONDAY, count: 5_000_000 }])
})

test('places of a later day are due on that day, in order', () => {
  for (const step of [150, 128_000, Number.POSITIVE_INFINITY]) {
    const times = [0, 1, 75, 149].map((n) => placeTime({ day: MONDAY, size: step }, n))
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(times.map(dayOf)).toEqual(times.map(() => MONDAY))
  }
  expect(dayOf(placeTime({ day: MONDAY, size: 150 }, 149) + HOUR_MS)).toBe(MONDAY)
})

test('for any demand every delivery gets one place and no day exceeds its step', () => {
  const asks = fc.array(
    fc.record({ later: fc.integer({ min: 0, max: 3 }), count: fc.integer({ min: 1, max: 900 }) }),
    { maxLength: 25 },
  )
  fc.assert(
    fc.property(asks, (asked) => {
      let days: DayPlaces[] = []
      let at = 0
      for (const { later, count } of asked) {
        at += later
        const placements = findPlaces(days, dayAfter(at), count)
        const numbers = placements.flatMap(({ day, from, count: n }) =>
          Array.from({ length: n }, (_, i) => `${day} ${from + i}`),
        )
        expect(new Set(numbers).size).toBe(count)
        for (const { day, from } of placements) {
          expect(day >= dayAfter(at)).toBe(true)
          expect(from).toBe(days.find((row) => row.day === day)?.reserved ?? 0)
        }
        days = add(days, placements)
      }
      const sorted = days.sort((a, b) => (a.day < b.day ? -1 : 1))
      for (const [step, { day, reserved }] of sorted.entries()) {
        expect([day, reserved <= (warmUpLadder[step] ?? 0)]).toEqual([day, true])
      }
    }),
  )
})
