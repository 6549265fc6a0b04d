// Windows of the week: when they are open, when they open next, over midnight, across changes of the clocks and after an outage.
import { describe, expect, test } from 'vitest'
import { walkSegment } from '../../../rules/interpreter.ts'
import type { Json } from '../../../rules/json.ts'
import type { timeWindow } from '../../../rules/nodes/timeWindow.ts'
import { weekdays } from '../../../rules/time/clock.ts'
import { DAY_MS } from '../../../rules/time/zones.ts'
import { type Stretch, stretchesOf, zones } from '../../setup/offsets.ts'
import { withProperties } from './builders.ts'
import { designOf, ended, sending, start } from './runners.ts'

type Data = Parameters<typeof timeWindow.enter>[0]

const iso = (at: number): string => new Date(at).toISOString().replace(/:00\.000Z$/, '')
const at = (text: string): number => Date.parse(`${text}Z`)

/** `open`, or when it opens, of a node that is entered at that time in UTC. */
function opens(
  data: Data,
  now: number,
  properties: Record<string, Json> = {},
  settings: { timezone?: string } = {},
): string {
  const exit = { id: 'x', type: 'exit', data: { outcome: 'open' } } as const
  const design = designOf([{ id: 'n', type: 'time_window', data }, exit], 't>n', 'n>x')
  const facts = { ...withProperties(properties), now }
  const { next } = walkSegment({ ...design, settings }, start, facts, sending())
  if (next.kind === 'wait' && next.for === 'window') return iso(next.until)
  expect(next).toEqual(ended('open'))
  return 'open'
}

const week = [...weekdays]
const office: Data = {
  days: ['mon', 'tue', 'wed', 'thu', 'fri'],
  start: '09:00',
  end: '17:00',
  timezone: 'Europe/Berlin',
}
const night: Data = { ...office, days: ['fri'], start: '22:00', end: '02:00' }

// 23 November 2026 is a Monday; Berlin is an hour ahead of UTC.
test.each<[string, Data, string, string]>([
  ['before it opens', office, '2026-11-23T07:59', '2026-11-23T08:00'],
  ['the minute that it opens', office, '2026-11-23T08:00', 'open'],
  ['the last ms', office, '2026-11-23T15:59:59.999', 'open'],
  ['its end is outside', office, '2026-11-23T16:00', '2026-11-24T08:00'],
  ['over the weekend', office, '2026-11-27T16:00', '2026-11-30T08:00'],
  ['over midnight, before', night, '2026-11-27T20:59', '2026-11-27T21:00'],
  ['over midnight, on the day', night, '2026-11-27T22:30', 'open'],
  ['over midnight, the day after', night, '2026-11-28T00:59', 'open'],
  ['over midnight, its end', night, '2026-11-28T01:00', '2026-12-04T21:00'],
  ['the night before the day is none', night, '2026-11-27T00:30', '2026-11-27T21:00'],
  ['a whole day', { ...night, end: '22:00' }, '2026-11-28T20:59', 'open'],
  ['a whole day, over', { ...night, end: '22:00' }, '2026-11-28T21:00', '2026-12-04T21:00'],
  ['always', { ...office, days: week, start: '00:00', end: '00:00' }, '2026-11-28T23:00', 'open'],
  ['one day, just over', { ...office, days: ['mon'] }, '2026-11-23T16:00', '2026-11-30T08:00'],
  [
    'opens in the gap of spring: when that is over',
    { ...office, days: week, start: '02:30', end: '04:00' },
    '2027-03-27T23:00',
    '2027-03-28T01:00',
  ],
  [
    'lies in the gap: the next day',
    { ...office, days: week, start: '02:00', end: '02:45' },
    '2027-03-28T00:00',
    '2027-03-29T00:00',
  ],
  [
    'lies in the gap of its only day: the next week',
    { ...office, days: ['sun'], start: '02:00', end: '02:45' },
    '2027-03-27T00:00',
    '2027-04-04T00:00',
  ],
  [
    'opens twice in autumn: the first time',
    { ...office, days: week, start: '02:30', end: '04:00' },
    '2027-10-30T23:00',
    '2027-10-31T00:30',
  ],
  [
    'and stays open while the clocks show earlier times again',
    { ...office, days: week, start: '02:30', end: '04:00' },
    '2027-10-31T01:10',
    'open',
  ],
])('%s', (_name, data, now, expected) => {
  expect(opens(data, at(now))).toBe(expected)
})

describe('whose clocks', () => {
  const { timezone: _, ...own } = office
  const kolkata = { timezone: 'Asia/Kolkata' }
  const now = at('2026-11-23T00:00')
  test.each<[string, Data, Record<string, Json>, { timezone?: string }, string]>([
    ["the contact's", own, kolkata, {}, '2026-11-23T03:30'],
    ['the fallback', { ...own, fallback_timezone: 'Asia/Kolkata' }, {}, {}, '2026-11-23T03:30'],
    [
      'the fallback of a name that is no zone',
      { ...own, timezone: 'contact', fallback_timezone: 'Asia/Kolkata' },
      { timezone: 'IST?' },
      { timezone: 'Europe/Berlin' },
      '2026-11-23T03:30',
    ],
    ['of the settings', own, {}, kolkata, '2026-11-23T03:30'],
    ['UTC', own, {}, {}, '2026-11-23T09:00'],
    ['of the node', { ...office }, kolkata, kolkata, '2026-11-23T08:00'],
  ])('%s', (_name, data, properties, settings, expected) => {
    expect(opens(data, now, properties, settings)).toBe(expected)
  })
})

describe('an execution that waits for it', () => {
  const exit = { id: 'x', type: 'exit', data: { outcome: 'open' } } as const
  const design = designOf([{ id: 'n', type: 'time_window', data: office }, exit], 't>n', 'n>x')
  const evening = at('2026-11-23T19:00')
  const again = { kind: 'again', nodeId: 'n', since: evening } as const
  const facts = (now: number) => ({ ...withProperties({}), now })

  test('asks again when it opens, and goes on', () => {
    const until = at('2026-11-24T08:00')
    const { next } = walkSegment(design, start, facts(evening), sending())
    expect(next).toMatchObject({ for: 'window', until, again: true })
    const { left, next: last } = walkSegment(design, again, facts(until), sending())
    expect(left).toEqual({ handle: 'default', why: null })
    expect(last).toEqual(ended('open'))
  })

  test('waits for the next one when its timer comes after the window has closed', () => {
    const { steps, left, next } = walkSegment(
      design,
      again,
      facts(at('2026-11-24T20:00')),
      sending(),
    )
    expect({ steps, left }).toEqual({ steps: [], left: null })
    expect(next).toMatchObject({ for: 'window', since: evening, until: at('2026-11-25T08:00') })
  })
})

/** When it opens after `now`, minute by minute on clocks that are worked out from Intl alone. */
function searched(
  stretches: readonly Stretch[],
  [from, to]: [number, number],
  now: number,
): number | undefined {
  // Within a window that does not go over midnight, it is open from the first minute that shows `from` or later, to the
  // first that shows `to` or later.
  const first = new Map<string, number>()
  for (let minute = now - 2 * DAY_MS; minute < now + 3 * DAY_MS; minute += 60_000) {
    const { offset = 0 } = stretches.findLast((one) => one.from <= minute) ?? {}
    const wall = minute + offset
    const day = Math.floor(wall / DAY_MS) * DAY_MS
    for (const time of [from, to]) {
      const key = `${day} ${time}`
      if (wall - day >= time && !first.has(key)) first.set(key, minute)
    }
    const [opened, closed] = [first.get(`${day} ${from}`), first.get(`${day} ${to}`)]
    if (minute >= now && opened !== undefined && (closed === undefined || closed > minute)) {
      return minute
    }
  }
  return undefined
}

test.each(zones)(
  'in %s it opens as a search by the minute finds, at each change',
  (zone) => {
    const stretches = stretchesOf(zone, Date.UTC(2025, 0, 1), Date.UTC(2029, 0, 1))
    const wrong: string[] = []
    for (const { from } of stretches.slice(1)) {
      for (const [start, end] of [
        ['00:30', '01:45'],
        ['01:45', '02:10'],
        ['02:00', '03:00'],
        ['09:00', '17:00'],
      ] as const) {
        const times = [start, end].map((text) => Date.parse(`1970-01-01T${text}Z`))
        for (const hours of [-14, -2, -1, 0, 0.25, 1, 3]) {
          const now = from + hours * 3_600_000
          const data = { days: week, start, end, timezone: zone }
          const due = searched(stretches, times as [number, number], now)
          const expected = due === now ? 'open' : iso(due ?? 0)
          const got = opens(data, now)
          if (got !== expected) wrong.push(`${start} at ${iso(now)}: ${got}, not ${expected}`)
        }
      }
    }
    expect(wrong).toEqual([])
  },
  90_000,
)
