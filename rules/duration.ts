// ISO 8601 durations: exact ones in milliseconds, and those with months or years, which need a calendar.
import { daysInMonth, timeMax, utcTime } from './dates.ts'
import { limits } from './limits.ts'

const DAY_MS = 86_400_000

/** The longest span that a design may write in milliseconds. */
export const spanMsMax = limits.durationYearsMax * 365.25 * DAY_MS

export type Duration =
  | { kind: 'exact'; ms: number }
  /** `months` are counted in the UTC calendar first, then `ms` are added. */
  | { kind: 'calendar'; months: number; ms: number }

const number = '(\\d{1,15}(?:[.,]\\d{1,9})?)'
const iso = new RegExp(
  `^P(?:${number}Y)?(?:${number}M)?(?:${number}W)?(?:${number}D)?` +
    `(T(?:${number}H)?(?:${number}M)?(?:${number}S)?)?$`,
)

/**
 * Parses an ISO 8601 duration (`P3D`, `PT30M`, `P1M2DT3H`, `P2W`). Weeks may be combined with other parts. The
 * smallest part may have a fraction, unless it is years or months. Null for anything else, also for negative and
 * empty durations.
 */
export function parseDuration(text: string): Duration | null {
  const match = iso.exec(text)
  if (!match || text === 'P' || text.endsWith('T')) return null
  const parts = [1, 2, 3, 4, 6, 7, 8].map((index) => match[index])
  const given = parts.filter((part) => part !== undefined)
  if (given.slice(0, -1).some((part) => !/^\d+$/.test(part))) return null
  const [years, months, weeks, days, hours, minutes, seconds] = parts.map((part) =>
    Number((part ?? '0').replace(',', '.')),
  ) as [number, number, number, number, number, number, number]
  if (!Number.isInteger(years) || !Number.isInteger(months)) return null
  const ms = Math.round(
    (weeks * 7 + days) * DAY_MS + hours * 3_600_000 + minutes * 60_000 + seconds * 1000,
  )
  const calendarMonths = years * 12 + months
  return calendarMonths === 0
    ? { kind: 'exact', ms }
    : { kind: 'calendar', months: calendarMonths, ms }
}

/**
 * The time `duration` after `at_ms`. Months keep the day of the month, or take the last day if the month is too
 * short (31 January + P1M is 28 or 29 February). Never outside the range of a Date.
 */
export function addDuration(at_ms: number, duration: Duration): number {
  return clampTime(
    addMonths(at_ms, duration.kind === 'calendar' ? duration.months : 0) + duration.ms,
  )
}

/** The time `duration` before `at_ms`, for the conditions `within_last` and `older_than`. */
export function subtractDuration(at_ms: number, duration: Duration): number {
  return clampTime(
    addMonths(at_ms, duration.kind === 'calendar' ? -duration.months : 0) - duration.ms,
  )
}

function addMonths(at_ms: number, months: number): number {
  if (months === 0) return at_ms
  const at = new Date(clampTime(at_ms))
  const monthIndex = at.getUTCFullYear() * 12 + at.getUTCMonth() + months
  const year = Math.floor(monthIndex / 12)
  const month = monthIndex - year * 12 + 1
  const day = utcTime(year, month, Math.min(at.getUTCDate(), daysInMonth(year, month)))
  // A day outside the range of a Date is NaN: the result is then the end of the range in that direction.
  if (Number.isNaN(day)) return Math.sign(months) * timeMax
  return day + (at.getTime() - utcTime(at.getUTCFullYear(), at.getUTCMonth() + 1, at.getUTCDate()))
}

function clampTime(ms: number): number {
  return Math.min(timeMax, Math.max(-timeMax, ms))
}

/** True if a duration is over `limits.durationYearsMax`, which is surely a mistake in a design. */
export function isTooLong(duration: Duration): boolean {
  const months = duration.kind === 'calendar' ? duration.months : 0
  return months / 12 + duration.ms / (365.25 * DAY_MS) > limits.durationYearsMax
}

/** True if a duration is zero (`PT0S`). */
export function isZero(duration: Duration): boolean {
  return duration.kind === 'exact' && duration.ms === 0
}
