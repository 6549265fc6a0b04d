// ISO 8601 durations and times: what is accepted, what is refused, and calendar arithmetic.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseTime, timeMax } from '../../../rules/dates.ts'
import {
  addDuration,
  type Duration,
  isTooLong,
  isZero,
  parseDuration,
  subtractDuration,
} from '../../../rules/duration.ts'

const hour = 3_600_000
const day = 24 * hour

describe('parseDuration', () => {
  test.each<[string, Duration]>([
    ['PT30M', { kind: 'exact', ms: 30 * 60_000 }],
    ['P3D', { kind: 'exact', ms: 3 * day }],
    ['P2W', { kind: 'exact', ms: 14 * day }],
    ['P1W2D', { kind: 'exact', ms: 9 * day }],
    ['PT1.5S', { kind: 'exact', ms: 1500 }],
    ['PT0,5H', { kind: 'exact', ms: 30 * 60_000 }],
    ['PT0S', { kind: 'exact', ms: 0 }],
    ['P0M', { kind: 'exact', ms: 0 }],
    ['P1M2DT3H', { kind: 'calendar', months: 1, ms: 2 * day + 3 * hour }],
    ['P2Y6M', { kind: 'calendar', months: 30, ms: 0 }],
  ])('%s', (text, duration) => {
    expect(parseDuration(text)).toEqual(duration)
  })
  test.each([
    '',
    'P',
    'PT',
    'P1DT',
    '-P1D',
    'P-1D',
    '+P1D',
    'p1d',
    '1D',
    'P1',
    'P1H',
    'PT1D',
    'P1.5M',
    'P0.5Y',
    'PT1.5H30M',
    'P1D ',
    'P1D\n',
    'P1e3D',
    'PT1H1H',
    'P1D2W',
    'P١D',
    `P${'9'.repeat(16)}D`,
  ])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeNull()
  })
})

describe('addDuration', () => {
  const add = (at: string, text: string): string => {
    const duration = parseDuration(text)
    if (!duration) throw new Error(`not a duration: ${text}`)
    return new Date(addDuration(Date.parse(at), duration)).toISOString()
  }
  test.each([
    ['2026-01-31T10:20:30.456Z', 'P1M', '2026-02-28T10:20:30.456Z'],
    ['2028-01-31T10:00:00.000Z', 'P1M', '2028-02-29T10:00:00.000Z'],
    ['2028-02-29T00:00:00.000Z', 'P1Y', '2029-02-28T00:00:00.000Z'],
    ['2026-12-15T00:00:00.000Z', 'P2M', '2027-02-15T00:00:00.000Z'],
    ['2026-03-28T23:00:00.000Z', 'P1D', '2026-03-29T23:00:00.000Z'],
    ['2026-01-31T00:00:00.000Z', 'P1M1DT1H', '2026-03-01T01:00:00.000Z'],
    ['1969-12-31T23:59:59.999Z', 'P1M', '1970-01-31T23:59:59.999Z'],
  ])('%s + %s', (at, text, expected) => {
    expect(add(at, text)).toBe(expected)
  })
  test('can be subtracted by the same calendar', () => {
    const march = Date.parse('2026-03-31T00:00:00Z')
    expect(subtractDuration(march, { kind: 'calendar', months: 1, ms: 0 })).toBe(
      Date.parse('2026-02-28T00:00:00Z'),
    )
  })
  test('gives a valid date, never before the start, for any duration', () => {
    const duration = fc.oneof(
      fc.record({ kind: fc.constant('exact' as const), ms: fc.nat(Number.MAX_SAFE_INTEGER) }),
      fc.record({
        kind: fc.constant('calendar' as const),
        months: fc.oneof(fc.nat(2000), fc.nat()),
        ms: fc.oneof(fc.nat(), fc.nat(Number.MAX_SAFE_INTEGER)),
      }),
    )
    const times = fc.integer({ min: -timeMax, max: timeMax })
    fc.assert(
      fc.property(times, duration, (at, span) => {
        const [later, earlier] = [addDuration(at, span), subtractDuration(at, span)]
        expect(later).toBeGreaterThanOrEqual(at)
        expect(earlier).toBeLessThanOrEqual(at)
        expect(Number.isNaN(new Date(later).getTime())).toBe(false)
        expect(Number.isNaN(new Date(earlier).getTime())).toBe(false)
      }),
    )
  })
})

test('at most a hundred years, and zero is recognised', () => {
  const tooLong = (text: string): boolean | null => {
    const duration = parseDuration(text)
    return duration && isTooLong(duration)
  }
  expect(tooLong('P100Y')).toBe(false)
  expect(tooLong('P101Y')).toBe(true)
  expect(tooLong('P1201M')).toBe(true)
  expect(tooLong('P36500D')).toBe(false)
  expect(tooLong('P37000D')).toBe(true)
  expect(tooLong('P60YT500000H')).toBe(true)
  expect(isZero({ kind: 'exact', ms: 0 })).toBe(true)
  expect(isZero({ kind: 'calendar', months: 1, ms: 0 })).toBe(false)
})

describe('parseTime', () => {
  test.each([
    [0, 0],
    [1.5, 1.5],
    ['1970-01-01', 0],
    ['1970-01-02T00:00', day],
    ['1970-01-01T00:00:01', 1000],
    ['1970-01-01T00:00:00.123456789Z', 123],
    ['1970-01-01T01:00:00+01:00', 0],
    ['1970-01-01T01:00+01', 0],
    ['1969-12-31 18:30:00-0530', 0],
    ['0001-01-01', Date.parse('0001-01-01T00:00:00Z')],
    ['2028-02-29', Date.UTC(2028, 1, 29)],
  ])('%j is %d', (value, ms) => {
    expect(parseTime(value)).toBe(ms)
  })
  test.each([
    undefined,
    null,
    true,
    [],
    '',
    '0',
    '1700000000000',
    'today',
    '2026-02-29',
    '2026-13-01',
    '2026-00-01',
    '2026-01-00',
    '2026-1-1',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01Z',
    '2026-01-01T00:00:00Zx',
    8.65e15,
  ])('%j is no time', (value) => {
    expect(parseTime(value)).toBeNull()
  })
  test('reads what toISOString writes', () => {
    const years = { min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z') }
    fc.assert(
      fc.property(fc.date({ ...years, noInvalidDate: true }), (date) => {
        expect(parseTime(date.toISOString())).toBe(date.getTime())
      }),
    )
  })
})
