// The times of schedules: cron expressions, and what changes of the clocks do to them.
import { describe, expect, test } from 'vitest'
import { parseCron } from '../../../rules/time/cron.ts'
import { nextTimes } from '../../../rules/time/schedule.ts'

const iso = (at: number): string => new Date(at).toISOString().slice(0, 16)
const at = (text: string): number => Date.parse(`${text}Z`)

/** The next times in UTC. */
const after = (now: string, cron: string, count: number, timezone = 'UTC'): string[] =>
  nextTimes({ cron, timezone }, at(now), count).map(iso)

// 23 November 2026 is a Monday.
test.each<[string, string, string[]]>([
  ['* * * * *', 'each minute', ['2026-11-23T10:01', '2026-11-23T10:02']],
  ['*/15 * * * *', 'each quarter', ['2026-11-23T10:15', '2026-11-23T10:30']],
  ['50/5 * * * *', 'a step from a number', ['2026-11-23T10:50', '2026-11-23T10:55']],
  ['0 9 * * *', 'over today', ['2026-11-24T09:00', '2026-11-25T09:00']],
  ['0 10 * * *', 'not the instant itself', ['2026-11-24T10:00', '2026-11-25T10:00']],
  ['30 8-18/5,23 * * *', 'range and list', ['2026-11-23T13:30', '2026-11-23T18:30']],
  ['0 9 * * mon-fri', 'days of work', ['2026-11-24T09:00', '2026-11-25T09:00']],
  ['0 9 * * SAT,sun', 'names in any case', ['2026-11-28T09:00', '2026-11-29T09:00']],
  ['0 9 * * fri-sun', 'to Sunday', ['2026-11-27T09:00', '2026-11-28T09:00']],
  ['0 9 * * 0', 'Sunday is 0', ['2026-11-29T09:00', '2026-12-06T09:00']],
  ['0 9 * * 7', 'and 7', ['2026-11-29T09:00', '2026-12-06T09:00']],
  ['0 9 1 * *', 'the first', ['2026-12-01T09:00', '2027-01-01T09:00']],
  ['0 9 31 * *', 'only where there is one', ['2026-12-31T09:00', '2027-01-31T09:00']],
  ['0 0 1 jan,Jul *', 'twice a year', ['2027-01-01T00:00', '2027-07-01T00:00']],
  ['0 0 29 2 *', 'each fourth year', ['2028-02-29T00:00', '2032-02-29T00:00']],
  ['0 9 13 * fri', 'the 13th, or a Friday', ['2026-11-27T09:00', '2026-12-04T09:00']],
  ['0 9 */10 * fri', 'a Friday that is the 1st, 11th …', ['2026-12-11T09:00', '2027-01-01T09:00']],
  ['  0  9\t* * *  ', 'more blanks', ['2026-11-24T09:00', '2026-11-25T09:00']],
])('%s: %s', (cron, _name, expected) => {
  expect(after('2026-11-23T10:00', cron, 2)).toEqual(expected)
})

test('a day that never comes has no times, and the search for it ends', () => {
  expect(after('2026-11-23T10:00', '0 0 31 2,4,6 *', 3)).toEqual([])
  expect(after('2096-03-01T00:00', '0 0 29 2 *', 1)).toEqual(['2104-02-29T00:00'])
})

describe('changes of the clocks', () => {
  test.each<[string, string, string, string, string[]]>([
    [
      'left out: the first instant after the gap',
      'Europe/Berlin',
      '30 2 * * *',
      '2027-03-27T12:00',
      ['2027-03-28T01:00', '2027-03-29T00:30'],
    ],
    [
      'times that fall together are one',
      'Europe/Berlin',
      '*/20 2,3 * * *',
      '2027-03-28T00:30',
      ['2027-03-28T01:00', '2027-03-28T01:20', '2027-03-28T01:40', '2027-03-29T00:00'],
    ],
    [
      'twice: the first alone',
      'Europe/Berlin',
      '30 2 * * *',
      '2027-10-30T12:00',
      ['2027-10-31T00:30', '2027-11-01T01:30'],
    ],
    [
      'asked in the second hour',
      'Europe/Berlin',
      '*/30 * * * *',
      '2027-10-31T01:10',
      ['2027-10-31T02:00', '2027-10-31T02:30'],
    ],
    [
      'half an hour',
      'Australia/Lord_Howe',
      '15 2 * * *',
      '2026-10-03T00:00',
      ['2026-10-03T15:30', '2026-10-04T15:15'],
    ],
    [
      'no midnight',
      'America/Santiago',
      '0 0 * * sun',
      '2026-09-01T00:00',
      ['2026-09-06T04:00', '2026-09-13T03:00'],
    ],
    [
      'the day is that of the zone',
      'Pacific/Auckland',
      '0 9 1 12 *',
      '2026-11-23T00:00',
      ['2026-11-30T20:00', '2027-11-30T20:00'],
    ],
  ])('%s (%s, %s)', (_name, timezone, cron, now, expected) => {
    expect(after(now, cron, expected.length, timezone)).toEqual(expected)
  })
})

test('once: by ms, by an offset, and by the clocks of the zone', () => {
  const once = (when: number | string, now: string) =>
    nextTimes({ at: when, timezone: 'Europe/Berlin' }, at(now), 3).map(iso)
  expect(once('2026-12-01T09:00', '2026-11-23T10:00')).toEqual(['2026-12-01T08:00'])
  expect(once('2026-12-01T09:00Z', '2026-11-23T10:00')).toEqual(['2026-12-01T09:00'])
  expect(once(at('2026-12-01T09:00'), '2026-11-23T10:00')).toEqual(['2026-12-01T09:00'])
  expect(once('2026-12-01T09:00', '2026-12-01T08:00')).toEqual([])
  expect(once('soon', '2026-12-01T08:00')).toEqual([])
  expect(nextTimes({ timezone: 'UTC' }, 0, 3)).toEqual([])
  expect(nextTimes({ cron: '* * * * *', timezone: 'UTC' }, 0, 0)).toEqual([])
})

test.each([
  ['0 9 * *', 'must have five fields, such as "0 9 * * mon-fri", not "0 9 * *"'],
  ['@daily', 'must have five fields, such as "0 9 * * mon-fri", not "@daily"'],
  ['', 'must have five fields, such as "0 9 * * mon-fri", not ""'],
  [
    '60 9 * * *',
    'must have as minute *, numbers from 0 to 59, ranges, steps or lists of them, not "60"',
  ],
  [
    '0 9 * 13 *',
    'must have as month *, numbers from 1 to 12 or names such as feb, ranges, steps or lists of them, not "13"',
  ],
])('%s is no cron expression', (text, fault) => {
  expect(parseCron(text)).toEqual({ fault })
  expect(nextTimes({ cron: text, timezone: 'UTC' }, 0, 1)).toEqual([])
})

test.each([
  '5-1 * * * *',
  '*/0 * * * *',
  '*-5 * * * *',
  '1,,2 * * * *',
  '1-2-3 * * * *',
  '-1 * * * *',
  '1.5 * * * *',
  '0 24 * * *',
  '0 0 0 * *',
  '0 0 * foo *',
  '0 0 * * fri-mon',
  '0 0 * * 8',
  '0 0 ? * *',
  `${'0,'.repeat(500)}0 * * * *`,
])('neither is %s', (text) => {
  expect(parseCron(text).fault).toMatch(/^must have/)
})
