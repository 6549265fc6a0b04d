// Time zones: every day of 2024 to 2036 in twelve zones, against the same worked out from Intl alone; and the dates that people write.
import { describe, expect, test } from 'vitest'
import { parseTimeOfDay, readMoment, weekdayOf } from '../../../rules/time/clock.ts'
import { DAY_MS, firstInstant, wallAt, zoneNamed, zoneOf } from '../../../rules/time/zones.ts'
import { firstShown, stretchesOf, zones } from '../../setup/offsets.ts'

const [FROM, TO] = [Date.UTC(2024, 0, 1), Date.UTC(2037, 0, 1)]
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Their clocks stay as they are, all these years. */
const steady = ['Asia/Kolkata', 'Asia/Kathmandu', 'Pacific/Apia', 'America/Sao_Paulo']

const iso = (at: number): string => new Date(at).toISOString()

/** Around each change every time of the day that may be left out or shown twice, in steps of a quarter of an hour. */
function timesToAsk(day: number, changes: number[]): number[] {
  const isNear = changes.some((wall) => wall >= day - HOUR_MS && wall <= day + DAY_MS + HOUR_MS)
  if (!isNear) return [day + 9 * HOUR_MS]
  const quarters = Array.from({ length: 96 }, (_, i) => day + i * 15 * MINUTE_MS)
  return [...quarters, day + 2 * HOUR_MS - 1, day + 2 * HOUR_MS + 1]
}

test.each(zones)(
  '%s has the times that Intl has, on every day of thirteen years',
  (zone) => {
    const stretches = stretchesOf(zone, FROM - 2 * DAY_MS, TO + 2 * DAY_MS)
    const changes = stretches.slice(1).map(({ from, offset }) => from + offset)
    // Morocco gave its changes up in 2026, as newer versions of Node know.
    expect(changes.length > 4).toBe(!steady.includes(zone))
    const wrong: string[] = []
    for (let day = FROM; day < TO; day += DAY_MS) {
      for (const wall of timesToAsk(day, changes)) {
        const [got, due] = [firstInstant(wall, zone), firstShown(stretches, wall)]
        const shows = got + (stretches.findLast(({ from }) => from <= got)?.offset ?? 0)
        if (got !== due || wallAt(got, zone) !== shows) wrong.push(`${iso(wall)}: ${iso(got)}`)
      }
    }
    expect(wrong).toEqual([])
  },
  90_000,
)

/** A time on the clocks of a zone, and the instant. */
test.each([
  ['Europe/Berlin', '2026-03-29T02:00', '2026-03-29T01:00', 'the first that is left out'],
  ['Europe/Berlin', '2026-03-29T02:59', '2026-03-29T01:00', 'the last that is left out'],
  ['Europe/Berlin', '2026-03-29T03:00', '2026-03-29T01:00', 'the first after the gap'],
  ['Europe/Berlin', '2026-10-25T02:30', '2026-10-25T00:30', 'twice: the first'],
  ['Europe/Berlin', '2026-10-25T03:00', '2026-10-25T02:00', 'after the second hour'],
  ['America/New_York', '2026-03-08T02:30', '2026-03-08T07:00', 'a gap'],
  ['America/New_York', '2026-11-01T01:30', '2026-11-01T05:30', 'twice'],
  ['Australia/Lord_Howe', '2026-10-04T02:15', '2026-10-03T15:30', 'a gap of half an hour'],
  ['Australia/Lord_Howe', '2026-04-05T01:45', '2026-04-04T14:45', 'half an hour twice'],
  ['Africa/Casablanca', '2026-03-22T02:30', '2026-03-22T02:00', 'the end of Ramadan'],
  ['America/Santiago', '2026-09-06T00:00', '2026-09-06T04:00', 'no midnight'],
  ['Asia/Kathmandu', '2026-06-01T00:00', '2026-05-31T18:15', 'three quarters'],
  ['Pacific/Apia', '2011-12-30T12:00', '2011-12-30T10:00', 'a day that was left out'],
])('in %s %s is %s: %s', (zone, wall, at) => {
  expect(iso(firstInstant(Date.parse(`${wall}Z`), zone))).toBe(iso(Date.parse(`${at}Z`)))
})

describe('names of zones', () => {
  test.each([
    ['Europe/Berlin', 'Europe/Berlin'],
    ['europe/BERLIN', 'Europe/Berlin'],
    ['America/Argentina/Buenos_Aires', expect.stringMatching(/Buenos_Aires$/)],
    ['Asia/Kolkata', expect.stringMatching(/^Asia\/(Kolkata|Calcutta)$/)],
    ['UTC', 'UTC'],
    ['Etc/GMT+5', 'Etc/GMT+5'],
    ['Mars/Olympus', null],
    ['+02:00', null],
    ['', null],
    [' Europe/Berlin', null],
    [`Europe/${'x'.repeat(100)}`, null],
    ['__proto__', null],
    [5, null],
    [null, null],
    [undefined, null],
  ])('%s is %s', (name, zone) => {
    expect(zoneNamed(name)).toEqual(zone)
  })
  const anyZone = expect.stringMatching(/^Asia\/(Kolkata|Calcutta)$/)
  test.each([
    ['what is written', 'Asia/Kolkata', { timezone: 'Europe/Berlin' }, ['Europe/London'], anyZone],
    ['the contact, if nothing is', undefined, { timezone: 'Asia/Kolkata' }, [], anyZone],
    ['and if it says so', 'contact', { timezone: 'Asia/Kolkata' }, ['Europe/London'], anyZone],
    ['the first other one', 'contact', {}, ['Europe/London', 'Asia/Kolkata'], 'Europe/London'],
    ['that of no zone', 'contact', { timezone: 'Home' }, [undefined, 'Asia/Kolkata'], anyZone],
    ['that of no text', undefined, { timezone: { id: 'UTC' } }, ['Europe/London'], 'Europe/London'],
    ['a name that is gone', 'Nowhere', { timezone: 'Europe/Berlin' }, ['Asia/Kolkata'], anyZone],
    ['UTC at last', 'contact', { timezone: '' }, [undefined], 'UTC'],
  ])('%s', (_name, written, properties, otherwise, zone) => {
    expect(zoneOf(written, properties, ...otherwise)).toEqual(zone)
  })
})

test.each([
  ['2026-05-01', '2026-04-30T22:00', 'a date is its midnight'],
  ['2026-05-01T09:30', '2026-05-01T07:30', 'no offset: on the clocks there'],
  ['2026-05-01 09:30:15.5', '2026-05-01T07:30:15.500', 'with seconds'],
  ['2026-05-01T09:30Z', '2026-05-01T09:30', 'UTC'],
  ['2026-05-01T09:30-04', '2026-05-01T13:30', 'an offset'],
  ['0000-01-01T00:00Z', '0000-01-01T00:00', 'the first year'],
  ['9999-12-31T23:59Z', '9999-12-31T23:59', 'the last year'],
])('%s in Berlin is %s: %s', (text, at) => {
  expect(iso(readMoment(text, 'Europe/Berlin')?.at ?? 0)).toBe(iso(Date.parse(`${at}Z`)))
})

test('numbers are instants, and what is no date of four digits is none', () => {
  expect(readMoment(1_777_628_100_000.7, 'Europe/Berlin')).toEqual({
    at: 1_777_628_100_000,
    wall: null,
  })
  const none = ['', 'soon', '1777628100000', '2026-02-30', 8.64e15, -8.64e15, 1e300, true, [], {}]
  for (const value of [...none, null, undefined]) expect(readMoment(value, 'UTC')).toBeNull()
})

test('times of the day are HH:MM', () => {
  expect(['00:00', '09:30', '23:59'].map(parseTimeOfDay)).toEqual([0, 34_200_000, 86_340_000])
  for (const value of ['24:00', '9:30', '09:60', '09:30:00', ' 09:30', '0930', 930, null]) {
    expect(parseTimeOfDay(value)).toBeNull()
  }
})

test('days of the week are those of the calendar, before 1970 too', () => {
  const named = ['2026-11-23', '1970-01-01', '1969-12-31', '1900-01-01', '2000-02-29']
  expect(named.map((day) => weekdayOf(Date.parse(day)))).toEqual([
    'mon',
    'thu',
    'wed',
    'mon',
    'tue',
  ])
})
