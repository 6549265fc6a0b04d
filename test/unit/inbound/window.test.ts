// Counts within a minute, also where the clock is set back.
import { expect, test } from 'vitest'
import { createWindow } from '../../../inbound/reports/window.ts'

test.each([
  ['a minute later', 60_000],
  ['an hour earlier: the clock was set back', -3_600_000],
])('counters begin again at 0 %s', (_, moved_ms) => {
  let time = Date.UTC(2026, 10, 27)
  const window = createWindow(() => new Date(time))
  expect([window.add('a'), window.add('a'), window.add('b')]).toEqual([1, 2, 1])
  time += moved_ms
  expect(window.add('a')).toBe(1)
})
