// When mail is due that is sent later: what may be asked for, and what it means.
import { parseTime } from '../dates.ts'
import type { Json } from '../json.ts'
import { limits } from '../limits.ts'
import { shown } from '../shown.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** The latest time that may be asked for, in days from now. */
export const scheduleAheadDaysMax = limits.scheduleAheadMsMax / DAY_MS

/**
 * Reads `scheduled_at`: ms since 1970, or ISO 8601, which is UTC where it says no offset.
 * @param now in ms
 * @returns the time that is asked for, in whole ms; null: none is (absent, null or an empty text); else what is wrong with it, as one
 * sentence that names the field
 */
export function readScheduledAt(
  value: Json | undefined,
  now: number,
): { at: number | null } | { fault: string } {
  if (value === undefined || value === null || value === '') return { at: null }
  const isNoTime = typeof value === 'number' && (!Number.isInteger(value) || value < 0)
  const at = isNoTime ? null : parseTime(value)
  if (at === null) {
    const form = 'a time in ms since 1970 or ISO 8601, such as 2026-03-01T09:00:00Z'
    return { fault: `scheduled_at must be ${form}, not ${shown(value)}` }
  }
  if (at - now > limits.scheduleAheadMsMax) {
    const most = `at most ${scheduleAheadDaysMax} days ahead`
    return { fault: `scheduled_at must be ${most}, not ${shown(value)}` }
  }
  return { at }
}

/** The time for which mail is scheduled; null: it is sent at once, since no time is asked for or that time has come. */
export const scheduledFor = (asked: number | null, now: Date): Date | null =>
  asked === null || asked <= now.getTime() ? null : new Date(asked)
