// Time zones: what the clock on a wall shows at an instant, and when it first shows a time. Nothing else knows the library.
import { Temporal } from 'temporal-polyfill'
import type { Json, JsonObject } from '../json.ts'

/**
 * What the clock on a wall shows, as the ms since 1970 of the same date and time in UTC: so a day is always DAY_MS long, and
 * `new Date(wall)` has its parts in UTC.
 */
export type Wall = number

export const DAY_MS = 86_400_000

/** A name of the tz database, and no offset: which offsets are zones depends on the version of Node. */
const nameOfZone = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/

/** By name in lower case; only names that exist, of which there are some six hundred. */
const known = new Map<string, string>()

/** The zone of an IANA name in any case, as the library knows it; null for what is no such name. */
export function zoneNamed(name: Json | undefined): string | null {
  if (typeof name !== 'string' || !nameOfZone.test(name)) return null
  const key = name.toLowerCase()
  const found = known.get(key)
  if (found !== undefined) return found
  try {
    const { timeZone } = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions()
    known.set(key, timeZone)
    return timeZone
  } catch {
    return null
  }
}

/**
 * The zone that a node means.
 * @param written an IANA name; `contact` or nothing: the contact's property `timezone`
 * @param otherwise names to take instead, in this order, where there is none or it is no name of a zone; then UTC
 */
export function zoneOf(
  written: string | undefined,
  properties: JsonObject,
  ...otherwise: (string | undefined)[]
): string {
  const asked = written && written !== 'contact' ? written : properties['timezone']
  return firstZone(asked, ...otherwise)
}

/** The zone of the first of these that names one; UTC if none does. */
export function firstZone(...names: (Json | undefined)[]): string {
  for (const name of names) {
    const zone = zoneNamed(name)
    if (zone !== null) return zone
  }
  return 'UTC'
}

/** What the clocks of a zone show at an instant in ms. */
export function wallAt(at_ms: number, zone: string): Wall {
  const { offsetNanoseconds } =
    Temporal.Instant.fromEpochMilliseconds(at_ms).toZonedDateTimeISO(zone)
  return at_ms + Math.round(offsetNanoseconds / 1e6)
}

/**
 * The instant, in ms, at which the clocks of a zone first show a time or one after it. So a time that is left out in spring is
 * the first instant after the gap, and one that exists twice in autumn is the first of the two. Later times are never earlier
 * instants.
 */
export function firstInstant(wall: Wall, zone: string): number {
  const asked = Temporal.Instant.fromEpochMilliseconds(wall)
    .toZonedDateTimeISO('UTC')
    .toPlainDateTime()
  const found = asked.toZonedDateTime(zone, { disambiguation: 'earlier' })
  if (found.toPlainDateTime().equals(asked)) return found.epochMilliseconds
  // In a gap the library goes back by its length; the clocks jump at the next change of their offset.
  return (found.getTimeZoneTransition('next') ?? found).epochMilliseconds
}
