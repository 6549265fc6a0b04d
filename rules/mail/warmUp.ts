// The warm-up of a sending domain: how much mail it may send each day, and when further mail is due.

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

/**
 * The ladder: deliveries on the first, second, ... day (UTC) on which a new domain sends. After the last step it
 * is warmed up.
 */
export const warmUpLadder = [
  150, 250, 400, 700, 1_000, 1_500, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000,
] as const

/** Places that a domain has given out for a day. */
export interface DayPlaces {
  /** `YYYY-MM-DD`, UTC. */
  day: string
  reserved: number
}

/** The UTC day of a time in ms, `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** The step of the ladder on which the domain stands today, from 0. Only days with mail count as steps. */
export function stepOf(days: readonly DayPlaces[], today: string): number {
  return days.filter((row) => row.day < today && row.reserved > 0).length
}

/** Whether all steps of the ladder were used before today. */
export function isLadderOver(days: readonly DayPlaces[], today: string): boolean {
  return stepOf(days, today) >= warmUpLadder.length
}

/** The places of today: all of its step, and those that were given out. After the ladder's end there is no limit. */
export function placesOf(
  days: readonly DayPlaces[],
  today: string,
): { size: number; used: number; left: number } {
  const size = warmUpLadder[stepOf(days, today)] ?? Number.POSITIVE_INFINITY
  const used = days.find(({ day }) => day === today)?.reserved ?? 0
  return { size, used, left: Math.max(0, size - used) }
}

/**
 * When mail that has no place today is due, in ms: in the first hours of tomorrow, automation before broadcasts and of each
 * what was put off first, so that it finds a place before what comes then.
 * @param place the place of its class in mailClasses (classes.ts)
 */
export function dueTomorrow(place: number, now: number): number {
  const today = Date.parse(dayOf(now))
  const hours = Math.max(0, place - 1)
  return today + DAY_MS + hours * HOUR_MS + Math.floor((now - today) / 24)
}
