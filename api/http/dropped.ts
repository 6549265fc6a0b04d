// Tells the operator of connections that were closed at once because there were too many: one line a minute at most.

/** Which number was exceeded: that of the process, or that of one address. */
export type DroppedBy = 'process' | 'address'

const EVERY_MS = 60_000

/** Counts of one line. */
export type Dropped = Record<DroppedBy, number>

/**
 * Makes a counter. The first connection is told at once, what follows within a minute at its end.
 * @param tell gets the counts since it was last called
 */
export function createDropped(tell: (dropped: Dropped) => void, everyMs = EVERY_MS) {
  let dropped: Dropped = { process: 0, address: 0 }
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    timer = undefined
    if (dropped.process + dropped.address === 0) return
    const told = dropped
    dropped = { process: 0, address: 0 }
    timer = setTimeout(flush, everyMs)
    timer.unref()
    tell(told)
  }

  return (by: DroppedBy): void => {
    dropped[by] += 1
    if (!timer) flush()
  }
}
