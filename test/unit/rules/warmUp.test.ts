// The warm-up ladder of a new domain: the places of a day, and when the rest is due.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  dayOf,
  dueTomorrow,
  isLadderOver,
  placesOf,
  stepOf,
  warmUpLadder,
} from '../../../rules/mail/warmUp.ts'

const MONDAY = '2026-03-02'
const HOUR_MS = 3_600_000
const dayAfter = (days: number) => dayOf(Date.parse(MONDAY) + days * 24 * HOUR_MS)

test('the ladder is 150, 250, 400, 700, 1000, 1500, 2000, and doubles up to 128,000', () => {
  expect(warmUpLadder.slice(0, 7)).toEqual([150, 250, 400, 700, 1_000, 1_500, 2_000])
  const doubled = warmUpLadder.slice(6)
  for (const [i, step] of doubled.entries()) expect(step).toBe(2_000 * 2 ** i)
  expect(warmUpLadder.at(-1)).toBe(128_000)
})

test('the others get what transactional mail leaves of the day', () => {
  expect(placesOf([], MONDAY)).toEqual({ size: 150, used: 0, left: 150 })
  expect(placesOf([{ day: MONDAY, reserved: 120 }], MONDAY).left).toBe(30)
  expect(placesOf([{ day: MONDAY, reserved: 900 }], MONDAY).left).toBe(0)
})

test('days without mail do not count as steps', () => {
  const days = [
    { day: dayAfter(-30), reserved: 150 },
    { day: dayAfter(-2), reserved: 0 },
  ]
  expect(stepOf(days, MONDAY)).toBe(1)
  expect(placesOf(days, MONDAY).size).toBe(250)
})

test('after the last step there is no limit, and the warm-up is over', () => {
  const days = warmUpLadder.map((reserved, i) => ({ day: dayAfter(i - 13), reserved }))
  expect(isLadderOver(days.slice(1), MONDAY)).toBe(false)
  expect(isLadderOver(days, MONDAY)).toBe(true)
  expect(placesOf(days, MONDAY).left).toBe(Number.POSITIVE_INFINITY)
})

test('what has no place is due early tomorrow: automation first, and of each what was put off first', () => {
  const times = fc.array(fc.integer({ min: 0, max: 24 * HOUR_MS - 1 }), { minLength: 2 })
  fc.assert(
    fc.property(times, (given) => {
      const nows = given.sort((a, b) => a - b).map((ms) => Date.parse(MONDAY) + ms)
      const automation = nows.map((now) => dueTomorrow(1, now))
      const broadcasts = nows.map((now) => dueTomorrow(2, now))
      for (const due of [automation, broadcasts]) {
        expect(due).toEqual([...due].sort((a, b) => a - b))
        expect(new Set(due.map(dayOf))).toEqual(new Set([dayAfter(1)]))
      }
      expect(Math.max(...automation)).toBeLessThan(Math.min(...broadcasts))
    }),
  )
})
