// Waits until a moment: until when, or why not, for each way to say the moment.
// Long because it is tables of cases, one for each way to say the moment.
import { describe, expect, test } from 'vitest'
import type { Design } from '../../../rules/design/types.ts'
import { spanMsMax } from '../../../rules/duration.ts'
import { walkSegment } from '../../../rules/interpreter.ts'
import type { Json } from '../../../rules/json.ts'
import { waitTarget, type waitUntil } from '../../../rules/nodes/waitUntil.ts'
import { DAY_MS, firstInstant, wallAt } from '../../../rules/time/zones.ts'
import { firstShown, stretchesOf, zones } from '../../setup/offsets.ts'
import { codesOf, edgesOf, withProperties } from './builders.ts'
import { designOf, ended, failed, sending, start } from './runners.ts'

type Data = Parameters<typeof waitUntil.enter>[0]

/** Mon 23 Nov 2026, 10:00 in UTC; 11:00 in Berlin, 05:00 in New York. */
const now = Date.UTC(2026, 10, 23, 10)
const iso = (at: number): string => new Date(at).toISOString().replace(/:00\.000Z$/, '')

interface Around {
  properties?: Record<string, Json>
  settings?: Design['settings']
  /** `past` is wired, unless said. */
  isBare?: boolean
}

/** What becomes of a node that is entered now. */
function entered(data: Data, { properties = {}, settings = {}, isBare }: Around = {}) {
  const exits = ['default', 'past'].map(
    (id) => ({ id, type: 'exit', data: { outcome: `by ${id}` } }) as const,
  )
  const design = designOf(
    [{ id: 'n', type: 'wait_until', data }, ...exits],
    't>n',
    'n>default',
    ...(isBare ? [] : ['n.past>past']),
  )
  const facts = { ...withProperties(properties), now }
  const { next, steps } = walkSegment({ ...design, settings }, start, facts, sending())
  return { next, why: steps[1]?.why }
}

/** Until when it waits, in UTC; else how it ends. */
function until(data: Data, around?: Around): string {
  const { next } = entered(data, around)
  return next.kind === 'wait' && next.until !== null
    ? iso(next.until)
    : next.kind === 'end'
      ? (next.outcome ?? next.error ?? '')
      : 'nothing'
}

const berlin = { timezone: 'Europe/Berlin' }

describe('a moment that the design names', () => {
  test.each<[string, Data, string]>([
    ['ms', { at: Date.UTC(2026, 11, 1, 8) }, '2026-12-01T08:00'],
    ['UTC', { at: '2026-12-01T08:00Z' }, '2026-12-01T08:00'],
    ['an offset', { at: '2026-12-01T08:00+05:30' }, '2026-12-01T02:30'],
    ['no zone at all is UTC', { at: '2026-12-01T08:00' }, '2026-12-01T08:00'],
    ['a zone', { at: '2026-12-01T08:00', ...berlin }, '2026-12-01T07:00'],
    ['a day', { at: '2026-12-01', ...berlin }, '2026-11-30T23:00'],
    ['later', { at: '2026-12-01', offset_ms: 3_600_000 }, '2026-12-01T01:00'],
    ['earlier', { at: '2026-12-01', offset_ms: -DAY_MS }, '2026-11-30T00:00'],
    ['one ms ahead', { at: now + 1 }, '2026-11-23T10:00:00.001Z'],
  ])('%s', (_name, data, expected) => {
    expect(until(data)).toBe(expected)
  })
})

describe('a time of the day', () => {
  test.each<[string, Data, string]>([
    ['later on the day', { at: '2026-12-01T08:00Z', time_of_day: '09:30' }, '2026-12-01T09:30'],
    ['the very moment', { at: '2026-12-01T08:00Z', time_of_day: '08:00' }, '2026-12-01T08:00'],
    ['earlier: the next', { at: '2026-12-01T08:00Z', time_of_day: '07:59' }, '2026-12-02T07:59'],
    [
      'the day is that of the zone',
      { at: '2026-11-30T23:30Z', time_of_day: '09:00', ...berlin },
      '2026-12-01T08:00',
    ],
    [
      'after the offset',
      { at: '2026-12-01', offset_ms: -3 * DAY_MS, time_of_day: '09:00', ...berlin },
      '2026-11-28T08:00',
    ],
    [
      'left out in spring: after the gap',
      { at: '2027-03-28', time_of_day: '02:30', ...berlin },
      '2027-03-28T01:00',
    ],
    [
      'over since the gap: the next day',
      { at: '2027-03-28T03:15', time_of_day: '02:30', ...berlin },
      '2027-03-29T00:30',
    ],
    [
      'twice in autumn: the first',
      { at: '2027-10-31', time_of_day: '02:30', ...berlin },
      '2027-10-31T00:30',
    ],
    [
      'in the second hour the first is over',
      { at: '2027-10-31T01:10Z', time_of_day: '02:30', ...berlin },
      '2027-11-01T01:30',
    ],
  ])('%s', (_name, data, expected) => {
    expect(until(data)).toBe(expected)
  })
})

describe('a date of the contact', () => {
  const day = '2026-12-01'
  test.each<[string, Data, Around, string]>([
    ['a text', { property_path: 'ends' }, { properties: { ends: day } }, '2026-12-01T00:00'],
    [
      'ms, deep, by the name that conditions use',
      { property_path: 'properties.plan.ends' },
      { properties: { plan: { ends: Date.UTC(2026, 11, 1, 5) } } },
      '2026-12-01T05:00',
    ],
    [
      'their zone',
      { property_path: 'ends', time_of_day: '09:00' },
      { properties: { ends: day, timezone: 'America/New_York' } },
      '2026-12-01T14:00',
    ],
    [
      'their zone before that of the settings',
      { property_path: 'ends', timezone: 'contact' },
      { properties: { ends: day, timezone: 'Asia/Kolkata' }, settings: berlin },
      '2026-11-30T18:30',
    ],
    [
      'no zone of that name: that of the settings',
      { property_path: 'ends' },
      { properties: { ends: day, timezone: 'Home' }, settings: berlin },
      '2026-11-30T23:00',
    ],
    [
      'the zone of the node',
      { property_path: 'ends', timezone: 'Asia/Kathmandu' },
      { properties: { ends: day, timezone: 'America/New_York' }, settings: berlin },
      '2026-11-30T18:15',
    ],
    ['a year before it', { property_path: 'a' }, { properties: { a: '2025-12-01' } }, 'by past'],
    [
      'a year before it, bare',
      { property_path: 'a' },
      { properties: { a: '2025-12-01' }, isBare: true },
      'by default',
    ],
  ])('%s', (_name, data, around, expected) => {
    expect(until(data, around)).toBe(expected)
  })
  test.each<[string, Record<string, Json>]>([
    ['missing', {}],
    ['no date', { ends: 'soon' }],
    ['empty', { ends: '' }],
    ['null', { ends: null }],
    ['an object', { ends: { at: day } }],
    ['digits', { ends: '1796083200000' }],
    ['a year of five digits', { ends: 8.64e15 }],
  ])('%s', (_name, properties) => {
    const data = { property_path: 'ends' }
    const wired = entered(data, { properties })
    expect(wired).toEqual({ next: ended('by past'), why: 'no_date' })
    const bare = entered(data, { properties, isBare: true })
    expect(bare).toEqual({ next: failed('n: no_date'), why: 'no_date' })
    const settings = { on_step_failure: 'continue' } as const
    const lenient = entered(data, { properties, settings, isBare: true })
    expect(lenient).toEqual({ next: ended('by default'), why: 'no_date' })
  })
  test('the end of time is a hundred years away', () => {
    const { next } = entered({ property_path: 'a' }, { properties: { a: '9999-12-31' } })
    expect(next).toMatchObject({ for: 'nothing', until: now + spanMsMax })
  })
})

describe('a moment that is not after now', () => {
  test.each<[string, Data, Around, string]>([
    ['goes on by past', { at: now }, {}, 'by past'],
    ['goes on by default', { at: now - 1, if_past: 'continue' }, { isBare: true }, 'by default'],
    ['ends', { at: now, if_past: 'exit' }, {}, 'past'],
    ['the next day', { at: now, if_past: 'next_day' }, {}, '2026-11-24T10:00'],
    [
      'years ago, the same time on the clocks there',
      { at: '2024-07-01T09:00', if_past: 'next_day', ...berlin },
      {},
      '2026-11-24T08:00',
    ],
    [
      'years ago, still ahead today',
      { at: '2024-07-01T18:00', if_past: 'next_day', ...berlin },
      {},
      '2026-11-23T17:00',
    ],
    [
      'an instant keeps its time on the clocks',
      { at: '2026-07-01T16:00Z', if_past: 'next_day', ...berlin },
      {},
      '2026-11-23T17:00',
    ],
    [
      'what a gap moved comes at its own time again',
      { at: '2026-03-29T02:30', if_past: 'next_day', ...berlin },
      {},
      '2026-11-24T01:30',
    ],
    [
      'and with a time of the day',
      { at: '2026-03-29', time_of_day: '02:30', if_past: 'next_day', ...berlin },
      {},
      '2026-11-24T01:30',
    ],
    [
      'a birthday',
      { property_path: 'born', time_of_day: '12:00', if_past: 'next_day' },
      { properties: { born: '1985-11-23', timezone: 'Pacific/Auckland' } },
      '2026-11-23T23:00',
    ],
  ])('%s', (_name, data, around, expected) => {
    expect(until(data, around)).toBe(expected)
  })
  test('the step says so', () => {
    expect(entered({ at: now }).why).toBe('past')
    expect(entered({ at: now, if_past: 'exit' }).why).toBe('past')
  })
})

test('the moment is worked out anew from other properties, as of when the wait began', () => {
  const data = { property_path: 'ends', if_past: 'next_day' } as const
  const at = (properties: Record<string, Json>) =>
    waitTarget(data, withProperties(properties), {}, now)
  expect(at({ ends: now + 5 })).toEqual({ kind: 'at', at_ms: now + 5 })
  expect(at({ ends: now })).toEqual({ kind: 'at', at_ms: now + DAY_MS })
  expect(at({ ends: 'gone' })).toEqual({ kind: 'no_date' })
  const once = { property_path: 'ends' }
  expect(waitTarget(once, withProperties({ ends: now }), {}, now)).toEqual({ kind: 'past' })
})

describe('asked again during the wait', () => {
  const ends = now + 10 * DAY_MS
  const asked = (data: object, properties: Record<string, Json>, later: number) => {
    const exits = ['default', 'past'].map(
      (id) => ({ id, type: 'exit', data: { outcome: `by ${id}` } }) as const,
    )
    const node = { id: 'n', type: 'wait_until', data: data as Data } as const
    const design = designOf([node, ...exits], 't>n', 'n>default', 'n.past>past')
    const facts = { ...withProperties(properties), now: later }
    const again = { kind: 'again', nodeId: 'n', since: now } as const
    const { next } = walkSegment(design, again, facts, sending())
    return next.kind === 'wait' ? next.until : next.kind === 'end' ? next.outcome : null
  }
  const own = { property_path: 'ends' }
  test.each<[string, object, Record<string, Json>, number, number | string]>([
    ['it waits on', own, { ends }, now + DAY_MS, ends],
    ['for another date', own, { ends: ends + 5 }, now + DAY_MS, ends + 5],
    ['the moment has come', own, { ends }, ends, 'by default'],
    ['so it has where the date moved', own, { ends: now + DAY_MS }, now + 2 * DAY_MS, 'by default'],
    ['the date moved to before the wait', own, { ends: now - 1 }, now + DAY_MS, 'by past'],
    ['the date is gone', own, {}, now + DAY_MS, 'by past'],
    ['the next day has come', { at: now, if_past: 'next_day' }, {}, now + DAY_MS, 'by default'],
  ])('%s', (_name, data, properties, later, expected) => {
    expect(asked(data, properties, later)).toBe(expected)
  })
})

test('only one that waits for the next day breaks a loop', () => {
  const looped = (data: object) => ({
    nodes: [
      { id: 't', type: 'trigger', data: { kind: 'manual' } },
      { id: 'n', type: 'wait_until', data },
    ],
    edges: edgesOf('t>n', 'n>n'),
  })
  expect(codesOf(looped({ at: 5, if_past: 'next_day' }))).toEqual([])
  for (const if_past of ['continue', 'exit']) {
    expect(codesOf(looped({ at: 5, if_past }))).toEqual(['nodes.1 loop_without_wait'])
  }
})

/** The days around each change of the clocks, where a time of the day may be left out or come twice. */
test.each(zones)(
  'in %s the next day has its time, across every change of 13 years',
  (zone) => {
    const [from, to] = [Date.UTC(2024, 0, 1), Date.UTC(2037, 0, 1)]
    const stretches = stretchesOf(zone, from - 4 * DAY_MS, to + 4 * DAY_MS)
    const wrong: string[] = []
    for (const change of stretches.slice(1)) {
      for (const minutes of [0, 15, 45, 60, 75, 105, 120, 135, 165, 179, 180, 1439]) {
        const time_of_day = new Date(minutes * 60_000).toISOString().slice(11, 16)
        const day = Math.floor(wallAt(change.from - DAY_MS, zone) / DAY_MS) * DAY_MS
        for (const since of [day, day + DAY_MS, day + 2 * DAY_MS].map((d) =>
          firstInstant(d, zone),
        )) {
          const data = { at: since, time_of_day, timezone: zone, if_past: 'next_day' } as const
          const got = waitTarget(data, withProperties({}), {}, since)
          const due = [-1, 0, 1, 2, 3]
            .map((i) => firstShown(stretches, day + i * DAY_MS + minutes * 60_000))
            .find((at) => at > since)
          if (got.kind !== 'at' || got.at_ms !== due)
            wrong.push(`${time_of_day} after ${iso(since)}`)
        }
      }
    }
    expect(wrong).toEqual([])
  },
  90_000,
)
