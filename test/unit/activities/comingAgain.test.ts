// When those come again that found no place: in a line, and ever later where they find none again and again.
import { expect, test } from 'vitest'
import { createRetries, pause_ms } from '../../../activities/comingAgain.ts'

test('who finds none again and again comes ever later, two minutes at most', () => {
  const pauses = [1, 10, 11, 12, 15, 16, 17, 400].map((attempt) => pause_ms(2_000, attempt))
  expect(pauses).toEqual([2_000, 2_000, 4_000, 8_000, 64_000, 120_000, 120_000, 120_000])
  // The line of a crowd may be longer than that.
  expect(pause_ms(150_000, 1)).toBe(150_000)
})

test('those of one key stand in a line, those of another in their own', () => {
  const retries = createRetries({ again_ms: 2_000, dense_after_ms: 0, dense_ms: 25 })
  const pauses = [retries.next_ms('a'), retries.next_ms('a'), retries.next_ms('b')]
  expect(pauses[0]).toBe(2_000)
  expect(pauses[1]).toBeGreaterThan(2_000)
  expect(pauses[2]).toBe(2_000)
})
