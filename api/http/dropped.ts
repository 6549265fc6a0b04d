// Tells the operator of connections that were closed at once because there were too many: one line a minute at most.

/** Which number was exceeded: connections of the process, connections of one address, or requests of one connection. */
export type DroppedBy = 'process' | 'address' | 'requests'

const EVERY_MS = 60_000

/** Counts of one line. */
export type Dropped = Record<DroppedBy, number>

const nothing = (): Dropped => ({ process: 0, address: 0, requests: 0 })

/**
 * Makes a counter. The first connection is told at once, what follows within a minute at its end.
 * @param tell gets the counts since it was last called
 */
export function createDropped(tell: (dropped: Dropped) => void, everyMs = EVERY_MS) {
  let dropped = nothing()
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    timer = undefined
    if (dropped.process + dropped.address + dropped.requests === 0) return
    const told = dropped
    dropped = nothing()
    timer = setTimeout(flush, everyMs)
    timer.unref()
    tell(told)
  }

  return (by: DroppedBy): void => {
    dropped[by] += 1
    if (!timer) flush()
  }
}
