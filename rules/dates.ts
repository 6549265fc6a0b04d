// Parses times in data: milliseconds since the epoch, or ISO 8601 text.
import type { Json } from './json.ts'

const isoDate =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/

/** The largest time that a Date holds, ms. */
export const timeMax = 8.64e15

/**
 * ms since the epoch of a number of ms or of an ISO 8601 date (`2026-03-01`, midnight UTC) or date and time
 * (without an offset: UTC, so that a machine's time zone does not matter). Null for everything else, also for
 * digits in text.
 */
export function parseTime(value: Json | undefined): number | null {
  if (typeof value === 'number') return Math.abs(value) <= timeMax ? value : null
  if (typeof value !== 'string') return null
  const match = isoDate.exec(value)
  if (!match) return null
  const part = (index: number): number => Number(match[index] ?? 0)
  const [month, day, hour, minute, second] = [part(2), part(3), part(4), part(5), part(6)]
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(part(1), month)) return null
  if (hour > 23 || minute > 59 || second > 59) return null
  const ms = Math.floor(Number(`0.${match[7] ?? 0}`) * 1000)
  const offset = parseOffset(match[8] ?? 'Z')
  if (offset === null) return null
  return utcTime(part(1), month, day) + ((hour * 60 + minute) * 60 + second) * 1000 + ms - offset
}

/** Whether a text that `parseTime` reads says which offset from UTC it has. */
export function saysOffset(text: string): boolean {
  return isoDate.exec(text)?.[8] !== undefined
}

function parseOffset(text: string): number | null {
  if (text === 'Z') return 0
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(3).replace(':', '') || 0)
  if (hours > 23 || minutes > 59) return null
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}

/** Midnight UTC of a calendar day, in ms. Years under 100 are not moved to the 1900s. */
export function utcTime(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day)
}

/** Days of a month 1-12. */
export function daysInMonth(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  if (month === 2) return leap ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}
