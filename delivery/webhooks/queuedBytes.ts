// How much one worker reads of webhook deliveries before they are begun: few of each endpoint, and one at a time when all that it has
// read is large.

/** Of an endpoint whose last try has succeeded, and of any other. */
const HEALTHY_READ = 16
const OTHER_READ = 2
/** Of the bodies that were read and not begun, in characters. A body has 64 KB of metadata and little more. */
const BYTES_MAX = 64 * 1024 * 1024

export interface QueuedBytes {
  /** @param by below 0 when they are begun or forgotten */
  add(by: number): void
  /** How many deliveries an endpoint may read now. */
  limit(isHealthy: boolean): number
}

export function createQueuedBytes(max = BYTES_MAX): QueuedBytes {
  let bytes = 0
  return {
    add(by) {
      bytes += by
    },
    limit(isHealthy) {
      if (bytes >= max) return 1
      return isHealthy ? HEALTHY_READ : OTHER_READ
    },
  }
}
