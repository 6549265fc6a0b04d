// How much one worker reads of webhook deliveries before they are begun: few of each endpoint unless it takes them fast and they are
// small, and one at a time when all that the worker has read is large.

/** Of an endpoint whose last try has succeeded, at first, and later if it is fast; of any other. */
const HEALTHY_READ = 16
const FAST_READ = 250
const OTHER_READ = 2
/** Of the bodies that were read and not begun, in characters. A body has 64 KB of metadata and little more. */
const BYTES_MAX = 64 * 1024 * 1024
/** Of the bodies that a fast endpoint reads at once. */
const FAST_BYTES_MAX = 256 * 1024

/** What the reads of an endpoint were like lately. */
export interface ReadPace {
  /** Deliveries that it begins before they are too old. */
  fresh: number
  /** Characters of one, in the mean of the last read; 0: nothing was read. */
  length: number
  /** How many the last read brought: the next one may bring twice as many, since they may be longer. */
  last: number
}

export interface QueuedBytes {
  /** @param by below 0 when they are begun or forgotten */
  add(by: number): void
  /** How many deliveries an endpoint may read now. */
  limit(isHealthy: boolean, pace: ReadPace): number
}

export function createQueuedBytes(max = BYTES_MAX): QueuedBytes {
  let bytes = 0
  return {
    add(by) {
      bytes += by
    },
    limit(isHealthy, { fresh, length, last }) {
      if (bytes >= max) return 1
      if (!isHealthy) return OTHER_READ
      if (length === 0) return HEALTHY_READ
      const most = Math.floor(FAST_BYTES_MAX / length)
      const more = Math.max(HEALTHY_READ, 2 * last)
      return Math.max(1, Math.min(FAST_READ, most, more, Math.max(HEALTHY_READ, fresh)))
    },
  }
}
