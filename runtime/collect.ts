// Gives memory back after long work: a process that is idle collects nothing by itself, and would keep what large mail left.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Long work that comes again within this time is one piece with what was before: V8 collects by itself meanwhile. */
const QUIET_MS = 10_000
/** What holds on to large mail for some time, such as a connection or a timer, has let go of it after so long. */
const LATE_MS = 60_000

/**
 * Makes a function that is called at each piece of long work. When none came for as long, it collects once.
 * @param collect takes some 50 ms
 */
export function createCollector(collect: () => void, quiet_ms = QUIET_MS): () => void {
  let timer: NodeJS.Timeout | undefined
  return () => {
    if (timer) timer.refresh()
    else {
      timer = setTimeout(() => {
        timer = undefined
        collect()
      }, quiet_ms).unref()
    }
  }
}

let collectNow: (() => void) | undefined

/** Collects all garbage of this thread at once. */
function collectAll(): void {
  if (!collectNow) {
    // Only contexts that begin behind the flag have the function.
    setFlagsFromString('--expose-gc')
    collectNow = runInNewContext('gc') as () => void
  }
  collectNow()
}

const collectSoon = createCollector(collectAll)
const collectLate = createCollector(collectAll, LATE_MS)

/** To be called at each piece of long work of this process: collects ten seconds and a minute after the last one. */
export function collectLater(): void {
  collectSoon()
  collectLate()
}
