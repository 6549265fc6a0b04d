// Bounds how many segments of one key (a workspace, a contact) are somewhere at once, such as those of one workspace with the renderer. Each of them holds
// one of the few places that a worker has for segments, so others wait for a moment, and then come again later.

export interface Bounds extends Spread {
  /** Segments of one key that are inside. */
  each: number
  /** How many of one key may wait. */
  waiting: number
  /** How many of all keys together: each of them holds a place of the worker meanwhile. */
  waitingOfAll: number
  /** How long one waits for a place; nobody waits where the oldest inside has been there for longer. */
  wait_ms: number
}

interface Spread {
  /** How soon a segment that was turned away comes again, and how far apart those of one key do at least. */
  again_ms: number
  apart_ms: number
  /** From when on in the line the pace no longer counts. */
  dense_after_ms: number
  /** How far apart they stand from then on. */
  dense_ms: number
}

/** How many of the last ones the pace is the average of, about. */
const PACE_MEMORY = 8

interface Line {
  /** When each of those inside entered, in ms of a clock that only goes forward; the oldest first. */
  inside: Set<{ entered_ms: number }>
  waiting: Set<() => void>
}

export type SegmentPlaces = ReturnType<typeof createSegmentPlaces>

/** Makes the places of one worker. */
export function createSegmentPlaces(bounds: Bounds) {
  const { each, wait_ms } = bounds
  const lines = new Map<string, Line>()
  const retries = createRetries(bounds)
  let waitingOfAll = 0

  function enter(key: string, line: Line): () => void {
    const one = { entered_ms: performance.now() }
    line.inside.add(one)
    return () => {
      line.inside.delete(one)
      retries.took(key, performance.now() - one.entered_ms, each)
      const [next] = line.waiting
      if (next) next()
      else if (line.inside.size === 0) lines.delete(key)
    }
  }

  const mayWait = ({ inside, waiting }: Line): boolean => {
    const [oldest] = inside
    // A timer may fire up to 1 ms early by this clock: who comes just after a wait has ended must find it long too.
    const long_ms = wait_ms - 1
    if (waiting.size >= bounds.waiting || waitingOfAll >= bounds.waitingOfAll) return false
    return !oldest || performance.now() - oldest.entered_ms < long_ms
  }

  return {
    /** Whether `take` would turn a segment of this key away now. */
    isFull(key: string): boolean {
      const line = lines.get(key)
      return line !== undefined && line.inside.size >= each && !mayWait(line)
    },
    /** Gives a segment that was turned away its place in the line. @returns in how many ms it comes again */
    retryAfter_ms: retries.next_ms,
    /**
     * Takes a place, at once or after a short wait.
     * @returns a function that gives it back; null when those before it take long: then the segment comes again later
     */
    take(key: string): Promise<(() => void) | null> {
      const line = lines.get(key) ?? { inside: new Set(), waiting: new Set() }
      lines.set(key, line)
      if (line.inside.size < each) return Promise.resolve(enter(key, line))
      if (!mayWait(line)) return Promise.resolve(null)
      waitingOfAll += 1
      return waitIn(line, wait_ms, () => enter(key, line)).finally(() => {
        waitingOfAll -= 1
      })
    },
  }
}

/** Waits until it is called, which it then answers by what `enter` gives; null after that time. */
function waitIn<T>({ waiting }: Line, wait_ms: number, enter: () => T): Promise<T | null> {
  return new Promise((resolve) => {
    const leave = () => {
      clearTimeout(timer)
      waiting.delete(called)
    }
    const called = () => {
      leave()
      resolve(enter())
    }
    const timer = setTimeout(() => {
      leave()
      resolve(null)
    }, wait_ms)
    waiting.add(called)
  })
}

/**
 * Spreads those that come again. They stand in a line at the pace at which places of their key become free, so
 * that each is likely to find one. Those that would come later than `dense_after_ms` stand `dense_ms` apart whatever the
 * pace, so that the last of thousands need not wait for hours.
 */
export function createRetries({ again_ms, apart_ms, dense_after_ms, dense_ms }: Spread) {
  const lines = new Map<string, { last: number; pace_ms: number }>()
  const isOver = (line: { last: number }, now: number) => line.last + dense_after_ms < now
  return {
    /** Learns how long one was inside, of so many at once. */
    took(key: string, took_ms: number, atOnce: number): void {
      const line = lines.get(key)
      if (line) line.pace_ms += (took_ms / atOnce - line.pace_ms) / PACE_MEMORY
    },
    next_ms(key: string): number {
      const now = performance.now()
      for (const [other, line] of lines) {
        if (!isOver(line, now)) break
        lines.delete(other)
      }
      const { last, pace_ms } = lines.get(key) ?? { last: 0, pace_ms: apart_ms }
      const step = last - now > dense_after_ms ? dense_ms : Math.max(apart_ms, pace_ms)
      const at = Math.max(now + again_ms, last + step)
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
