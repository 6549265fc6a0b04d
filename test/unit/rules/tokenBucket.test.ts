// The token bucket: never more than its burst and what the time has refilled, whatever is asked when.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Bucket,
  type BucketSize,
  fullBucket,
  refilled,
  secondsUntil,
} from '../../../rules/tokenBucket.ts'

/** Asks at these times, in ms. @returns the times at which a token was there */
function taken(size: BucketSize, times: readonly number[]): number[] {
  let bucket: Bucket = fullBucket(size, times[0] ?? 0)
  return times.filter((at) => {
    bucket = refilled(bucket, size, at)
    if (bucket.tokens < 1) return false
    bucket = { ...bucket, tokens: bucket.tokens - 1 }
    return true
  })
}

const sizes = fc.record({
  perSecond: fc.double({ min: 0.01, max: 1_000, noNaN: true }),
  burst: fc.integer({ min: 1, max: 500 }),
})
const gaps = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 200 })

test('in no span of time are there more than the burst and what was refilled', () => {
  fc.assert(
    fc.property(sizes, gaps, (size, between) => {
      let at = 0
      const times = between.map((gap) => (at += gap))
      const allowed = taken(size, times)
      for (let from = 0; from < allowed.length; from++) {
        for (let to = from; to < allowed.length; to++) {
          const passed_s = ((allowed[to] ?? 0) - (allowed[from] ?? 0)) / 1000
          expect(to - from + 1).toBeLessThanOrEqual(
            Math.floor(size.burst + passed_s * size.perSecond + 1e-6),
          )
        }
      }
    }),
    { numRuns: 200 },
  )
})

test('a clock that is set back refills nothing, and the bucket goes on from there', () => {
  const size = { perSecond: 1, burst: 2 }
  const empty = { tokens: 0, at: 10_000 }
  const back = refilled(empty, size, 4_000)
  expect(back).toEqual({ tokens: 0, at: 4_000 })
  expect(refilled(back, size, 5_000).tokens).toBe(1)
})

test('it says after how many whole seconds it holds so many', () => {
  const size = { perSecond: 0.4, burst: 3 }
  expect(secondsUntil(1, { tokens: 0, at: 0 }, size)).toBe(3)
  expect(secondsUntil(3, { tokens: 3, at: 0 }, size)).toBe(0)
  expect(secondsUntil(3, { tokens: 2.5, at: 0 }, size)).toBe(2)
})
