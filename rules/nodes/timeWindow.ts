// Holds the execution until a window of the week is open, such as weekdays from nine to five.
import { z } from 'zod'
import { type CheckAt, problemAt } from '../design/context.ts'
import { isGiven } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import { checkTimeOfDay, checkTimezone, checkZone } from '../design/timeChecks.ts'
import { didYouMean, shown } from '../shown.ts'
import { midnightOf, parseTimeOfDay, type Weekday, weekdayOf, weekdays } from '../time/clock.ts'
import { DAY_MS, firstInstant, type Wall, wallAt, zoneOf } from '../time/zones.ts'
import { always, defineNode, namesNothing, never, noConditions } from './define.ts'
import { timeOfDay, timezone } from './fields.ts'
import { failed } from './moves.ts'

const data = z.object({
  days: z.array(z.enum(weekdays)).min(1).describe('The days of the week on which it opens'),
  start: timeOfDay.describe('When it opens, `HH:MM`'),
  end: timeOfDay.describe(
    'When it closes, `HH:MM`; this minute is outside. Not after `start`: on the next day, so that it is open over midnight',
  ),
  timezone,
  fallback_timezone: z
    .string()
    .describe(
      'The time zone of contacts without a property `timezone` that names one; unless said `settings.timezone`, else UTC',
    )
    .exactOptional(),
})

function check(at: CheckAt): Problem[] {
  const missing = ['start', 'end'].filter((key) => !isGiven(at.data[key]))
  return [
    ...checkDays(at),
    ...missing.flatMap((key) => problemAt(at, key, 'missing_value', `${key} is required`)),
    ...checkTimeOfDay(at, 'start'),
    ...checkTimeOfDay(at, 'end'),
    ...checkTimezone(at, 'timezone'),
    ...checkZone(at, 'fallback_timezone'),
  ]
}

function checkDays(at: CheckAt): Problem[] {
  const { days } = at.data
  const all = weekdays.join(', ')
  if (!Array.isArray(days) || days.length === 0) {
    const code = isGiven(days) && !Array.isArray(days) ? 'bad_value' : 'missing_value'
    const came = Array.isArray(days) ? 'an empty array' : shown(days)
    return problemAt(
      at,
      'days',
      code,
      `days must be an array of one or more of ${all}, not ${came}`,
    )
  }
  return days.flatMap((day, i) => {
    if (weekdays.some((name) => name === day)) return []
    const guess = typeof day === 'string' ? didYouMean(day, weekdays) : ''
    const message = `a day must be one of ${all}, not ${shown(day)}${guess}`
    return problemAt(at, `days.${i}`, 'bad_value', message)
  })
}

interface Window {
  days: readonly Weekday[]
  /** ms since midnight. */
  start: number
  end: number
  zone: string
}

/** From and to which instant it is open on the day that begins at that midnight. */
function opening({ start, end, zone }: Window, midnight: Wall): { from: number; to: number } {
  const closes = end > start ? end : end + DAY_MS
  return { from: firstInstant(midnight + start, zone), to: firstInstant(midnight + closes, zone) }
}

/** A window that lies in the gap of spring is left out that day, and may have to wait for a week. */
const DAYS_AHEAD_MAX = 15

/** `now` where the window is open; else when it opens next, ms; null if it never does. */
function opensAt(window: Window, now: number): number | null {
  const today = midnightOf(wallAt(now, window.zone))
  // One that opened yesterday may still be open.
  for (let day = -1; day <= DAYS_AHEAD_MAX; day++) {
    const midnight = today + day * DAY_MS
    if (!window.days.includes(weekdayOf(midnight))) continue
    const { from, to } = opening(window, midnight)
    if (from < to && now < to) return Math.max(from, now)
  }
  return null
}

export const timeWindow = defineNode({
  type: 'time_window',
  summary: 'Holds the execution until a window of the week is open; inside it passes at once.',
  data,
  handles: always('default'),
  handleTexts: { default: 'The window is open' },
  waits: never,
  check,
  conditions: noConditions,
  names: namesNothing,
  enter(data, { nodeId, facts, settings }) {
    const { properties } = facts.contact
    const otherwise = [data.fallback_timezone, settings.timezone]
    const zone = zoneOf(data.timezone, properties, ...otherwise)
    const [start, end] = [parseTimeOfDay(data.start), parseTimeOfDay(data.end)]
    const opens =
      start === null || end === null
        ? null
        : opensAt({ days: data.days, start, end, zone }, facts.now)
    if (opens === null) return { end: failed(`${nodeId}: bad window`), why: null }
    if (opens <= facts.now) return { handle: 'default', why: null }
    // A timer may come late, when the window has closed again.
    return { wait: { for: 'window', until: opens, again: true }, why: null }
  },
})
