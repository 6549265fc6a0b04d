// Times of the day, days of the week, and dates as people write them.
import { parseTime, saysOffset, utcTime } from '../dates.ts'
import type { Json } from '../json.ts'
import { DAY_MS, firstInstant, type Wall } from './zones.ts'

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof weekdays)[number]

/** ms since midnight of `HH:MM`, 00:00 to 23:59; null for anything else. */
export function parseTimeOfDay(text: Json | undefined): number | null {
  const match = typeof text === 'string' ? /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text) : null
  return match ? (Number(match[1]) * 60 + Number(match[2])) * 60_000 : null
}

/** Midnight of the day of a wall-clock time. */
export const midnightOf = (wall: Wall): Wall => Math.floor(wall / DAY_MS) * DAY_MS

export function weekdayOf(wall: Wall): Weekday {
  // 1 January 1970 was a Thursday.
  return weekdays[(((Math.floor(wall / DAY_MS) + 3) % 7) + 7) % 7] ?? 'mon'
}

/** The years that ISO 8601 writes with four digits. */
const [FIRST_MS, LAST_MS] = [utcTime(0, 1, 1), utcTime(10_000, 1, 1) - 1]

export interface Moment {
  /** ms */
  at: number
  /** What was written, where that is a time of the wall clock; null: an instant. */
  wall: Wall | null
}

/**
 * A date as a design or a property writes it: ms since 1970, or ISO 8601; without an offset it is a time of the wall clock in
 * the zone, of which a date alone is the midnight. Null for what is no date of the years 0 to 9999.
 */
export function readMoment(value: Json | undefined, zone: string): Moment | null {
  const parsed = parseTime(value)
  if (parsed === null || parsed < FIRST_MS || parsed > LAST_MS) return null
  const ms = Math.floor(parsed)
  if (typeof value !== 'string' || saysOffset(value)) return { at: ms, wall: null }
  return { at: firstInstant(ms, zone), wall: ms }
}
