// When those come again that found no place (places.ts): in a line at the pace of those inside, and after many tries ever later.

export interface Spread {
  /** How soon one that was turned away comes again. */
  again_ms: number
  /** How far apart those of one key do at least; absent: as their pace is. */
  apart_ms?: number
  /** From when on in the line the pace no longer counts. */
  dense_after_ms: number
  /** How far apart they stand from then on. */
  dense_ms: number
  /** The longest that one is told to wait: those whose place would be later are spread over it, among the others. Absent: no bound. */
  most_ms?: number
}

/** How many of the last ones the pace is the average of, about. */
const PACE_MEMORY = 8

/**
 * Spreads those that come again. They stand in a line at the pace at which places of their key become free, so
 * that each is likely to find one. Those that would come later than `dense_after_ms` stand `dense_ms` apart whatever the
 * pace, so that the last of thousands need not wait for hours.
 */
export function createRetries(spread: Spread) {
  const {
    again_ms,
    apart_ms = 0,
    dense_after_ms,
    dense_ms,
    most_ms = Number.POSITIVE_INFINITY,
  } = spread
  const lines = new Map<string, { last: number; pace_ms: number }>()
  const isOver = (line: { last: number }, now: number) => line.last + dense_after_ms < now
  return {
    /** Learns how long one was inside, of so many at once. */
    took(key: string, took_ms: number, atOnce: number): void {
      const line = lines.get(key)
      if (line) line.pace_ms += (took_ms / atOnce - line.pace_ms) / PACE_MEMORY
    },
    /** Gives one that was turned away its place in the line of its key. @returns in how many ms it comes again */
    next_ms(key: string): number {
      const now = performance.now()
      for (const [other, line] of lines) {
        if (!isOver(line, now)) break
        lines.delete(other)
      }
      const { last, pace_ms } = lines.get(key) ?? { last: 0, pace_ms: apart_ms }
      const step = last - now > dense_after_ms ? dense_ms : Math.max(apart_ms, pace_ms)
      const behind = Math.max(now + again_ms, last + step)
      // A line that is too long begins once more beside itself.
      const at = behind - now > most_ms ? now + again_ms : behind
      lines.delete(key)
      lines.set(key, { last: at, pace_ms })
      return Math.round(at - now)
    },
  }
}

/** From this try on the pause grows: what is waited for is held for long, and each try is six events of a history, which may have 51,200. */
const TRIES_MIN = 10
const PAUSE_MS_MAX = 120_000

/** In how many ms one comes again that found no place. @param attempt its tries, this one among them */
export const pause_ms = (least_ms: number, attempt: number): number =>
  Math.max(least_ms, Math.min(PAUSE_MS_MAX, least_ms * 2 ** Math.max(0, attempt - TRIES_MIN)))
