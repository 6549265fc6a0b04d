// Checks of single keys that hold a time of the day or a time zone.

import { shown } from '../shown.ts'
import { parseTimeOfDay, readMoment } from '../time/clock.ts'
import { zoneNamed } from '../time/zones.ts'
import { type CheckAt, problemAt } from './context.ts'
import { isGiven } from './fieldChecks.ts'
import type { Problem } from './problem.ts'

/** `HH:MM`. */
export function checkTimeOfDay(at: CheckAt, key: string): Problem[] {
  const value = at.data[key]
  if (!isGiven(value) || parseTimeOfDay(value) !== null) return []
  const message = `${key} must be a time of the day from 00:00 to 23:59, such as 09:30, not ${shown(value)}`
  return problemAt(at, key, 'bad_value', message)
}

/** An IANA name of a time zone. */
export function checkZone(at: CheckAt, key: string): Problem[] {
  return checkZoneOr(at, key, null)
}

/** `contact`, or an IANA name of a time zone. */
export function checkTimezone(at: CheckAt, key: string): Problem[] {
  return checkZoneOr(at, key, 'contact')
}

function checkZoneOr(at: CheckAt, key: string, word: string | null): Problem[] {
  const value = at.data[key]
  if (!isGiven(value) || value === word || zoneNamed(value) !== null) return []
  const zone = `${word === null ? '' : `${word} or `}an IANA time zone such as Europe/Berlin`
  return problemAt(at, key, 'bad_value', `${key} must be ${zone}, not ${shown(value)}`)
}

/** ms since 1970 or ISO 8601. */
export function checkMoment(at: CheckAt, key: string): Problem[] {
  const value = at.data[key]
  if (!isGiven(value) || readMoment(value, 'UTC') !== null) return []
  const message = `${key} must be ms since 1970 or an ISO 8601 date such as 2026-03-01T09:00, not ${shown(value)}`
  return problemAt(at, key, 'bad_value', message)
}
