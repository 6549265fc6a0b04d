// When mail that is sent later is due: what may be asked for.
import { describe, expect, test } from 'vitest'
import { limits } from '../../../rules/limits.ts'
import { readScheduledAt, scheduledFor } from '../../../rules/mail/scheduledAt.ts'

const NOW = Date.UTC(2026, 10, 23, 9)
const read = (value: Parameters<typeof readScheduledAt>[0]) => readScheduledAt(value, NOW)

describe('what is read', () => {
  test.each([
    [undefined, null],
    [null, null],
    ['', null],
    [NOW + 1, NOW + 1],
    [0, 0],
    ['2026-11-23T10:00:00Z', NOW + 3_600_000],
    ['2026-11-23T10:00:00+01:00', NOW],
    ['2026-11-23T10:00:00', NOW + 3_600_000],
    ['2026-11-24', Date.UTC(2026, 10, 24)],
    [NOW + limits.scheduleAheadMsMax, NOW + limits.scheduleAheadMsMax],
  ])('%j', (value, at) => {
    expect(read(value)).toEqual({ at })
  })

  test.each([
    [true, 'true'],
    [{}, 'an object'],
    [[NOW], 'an array'],
    ['tomorrow', '"tomorrow"'],
    [String(NOW), `"${NOW}"`],
    ['2026-02-30', '"2026-02-30"'],
    ['2026-11-23T25:00:00Z', '"2026-11-23T25:00:00Z"'],
    [NOW + 0.5, String(NOW + 0.5)],
    [-1, '-1'],
    [8.64e15 + 1, String(8.64e15 + 1)],
  ])('not %j', (value, shown) => {
    const form = 'a time in ms since 1970 or ISO 8601, such as 2026-03-01T09:00:00Z'
    expect(read(value)).toEqual({ fault: `scheduled_at must be ${form}, not ${shown}` })
  })

  test('not more than ten years ahead', () => {
    const far = NOW + limits.scheduleAheadMsMax + 1
    const fault = `scheduled_at must be at most 3653 days ahead, not ${far}`
    expect(read(far)).toEqual({ fault })
    expect(read('9999-12-31T23:59:59Z')).toMatchObject({ fault: expect.stringContaining('3653') })
  })
})

test('a time that has come is no schedule', () => {
  const now = new Date(NOW)
  expect([null, NOW - 1, NOW, NOW + 1].map((asked) => scheduledFor(asked, now))).toEqual([
    null,
    null,
    null,
    new Date(NOW + 1),
  ])
})
