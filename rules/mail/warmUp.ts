// The warm-up of a sending domain: how much mail it lets out on each day, and where more than that is put.

const DAY_MS = 24 * 60 * 60 * 1000

/** Mails on the first, second, ... day (UTC) on which a new domain sends; after the last it is warm. */
export const warmUpLadder = [
  150, 250, 400, 700, 1_000, 1_500, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000,
] as const

/** What is put off to a day is spread over its first hours, so that midnight finds none of it still waiting. */
const SPREAD_MS = 20 * 60 * 60 * 1000

/** Places that a domain has given out for a day. */
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
  /** Infinity after the ladder's end. */
  size: number
}

/** The UTC day of a time in ms, `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** Whether the ladder was climbed to its end before this day: only days with mail count. */
export function isLadderOver(days: readonly DayPlaces[], today: string): boolean {
  return stepOf(days, today) >= warmUpLadder.length
}

/** Finds places for `count` mails, today and then on as many days after it as they need. */
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
    // A day that has no mail and gets none is no step.
    if (from + taken > 0) step += 1
    left -= taken
  }
  return placements
}

/** When the place of that number on a later day is due, ms. */
export function placeTime({ day, size }: Pick<Placement, 'day' | 'size'>, number: number): number {
  const last = warmUpLadder.at(-1) ?? 1
  const share = (number % Math.min(size, last)) / Math.min(size, last)
  return Date.parse(day) + Math.floor(share * SPREAD_MS)
}

function stepOf(days: readonly DayPlaces[], today: string): number {
  return days.filter((row) => row.day < today && row.reserved > 0).length
}
