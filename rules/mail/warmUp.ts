// The warm-up of a sending domain: how much mail it may send each day, and to which later day further mail is put
// off.

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * The ladder: deliveries on the first, second, ... day (UTC) on which a new domain sends. After the last step it
 * is warmed up.
 */
export const warmUpLadder = [
  150, 250, 400, 700, 1_000, 1_500, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000,
] as const

/** Mail that is put off to a day is spread over its first 20 hours, so that it is sent before the day ends. */
const SPREAD_MS = 20 * 60 * 60 * 1000

/** Places that a domain has reserved for a day. */
export interface DayPlaces {
  /** `YYYY-MM-DD`, UTC. */
  day: string
  reserved: number
}

/** Places on one day: the numbers `from` to `from + count - 1` of that day's `size`. */
export interface Placement {
  day: string
  from: number
  count: number
  /** Places of the day; Infinity after the ladder's end. */
  size: number
}

/** The UTC day of a time in ms, `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** Whether all steps of the ladder were used before today. Only days with mail count as steps. */
export function isLadderOver(days: readonly DayPlaces[], today: string): boolean {
  return stepOf(days, today) >= warmUpLadder.length
}

/** Finds places for `count` deliveries, today and on as many later days as needed. */
export function findPlaces(days: readonly DayPlaces[], today: string, count: number): Placement[] {
  const reserved = new Map(days.map((row) => [row.day, row.reserved]))
  const placements: Placement[] = []
  let step = stepOf(days, today)
  let left = count
  for (let at = Date.parse(today); left > 0; at += DAY_MS) {
    const day = dayOf(at)
    const from = reserved.get(day) ?? 0
    const size = warmUpLadder[step] ?? Number.POSITIVE_INFINITY
    const taken = Math.min(left, Math.max(0, size - from))
    if (taken > 0) placements.push({ day, from, count: taken, size })
    // A day without mail is not a step of the ladder.
    if (from + taken > 0) step += 1
    left -= taken
  }
  return placements
}

/** When a place on a later day is due, in ms. */
export function placeTime({ day, size }: Pick<Placement, 'day' | 'size'>, number: number): number {
  const last = warmUpLadder.at(-1) ?? 1
  const share = (number % Math.min(size, last)) / Math.min(size, last)
  return Date.parse(day) + Math.floor(share * SPREAD_MS)
}

function stepOf(days: readonly DayPlaces[], today: string): number {
  return days.filter((row) => row.day < today && row.reserved > 0).length
}
