// Which arrivals a lane has seen: ids are given in order, but the transactions that write them end in any order.
import { ARRIVALS_MAX, type Arrivals, type ArrivalsAsked } from '../../db/deliveries/lines.ts'

/** How old a horizon must be before it counts: a transaction may draw an id a moment before `xmax` knows of it. */
const AGAIN_MS = 200
/** How often a horizon is kept, and how long a transaction that does not end may hold it up. */
const HORIZON_MS = 50
const HELD_MS = 10_000
/**
 * So long after a lane has begun, its former owner has begun whatever it still does: once that has ended, a search finds what
 * it has put into lines.
 */
const FORMER_MS = 3_000

/** How far the ids went when no transaction had begun from `xmax` on. */
interface Horizon {
  top: number
  xmax: number
  at_ms: number
}

/**
 * Takes away the horizons that are passed: all transactions before them have ended, or would not end.
 * @returns up to which id nothing is looked for any more; the `xmax` of those before which not all have ended
 */
function passHorizons(horizons: Horizon[], xmin: number, now_ms: number) {
  let passed = 0
  const heldBy: number[] = []
  for (let [first] = horizons; first; [first] = horizons) {
    const hasEnded = first.xmax <= xmin
    if (now_ms - first.at_ms < (hasEnded ? AGAIN_MS : HELD_MS)) break
    if (!hasEnded) heldBy.push(first.xmax)
    passed = first.top
    horizons.shift()
  }
  return { passed, heldBy }
}

/** Knows the searches that have to come once transactions have ended, for what these have written. */
function createAwaitedSearches() {
  /** All transactions before these must have ended: for the next search, and for the last; null: none is waited for. */
  let first: number | null = null
  let last = 0
  return {
    /** One has to come once all before this transaction have ended. One for earlier ones does not wait for it. */
    add(xmax: number): void {
      first ??= xmax
      last = Math.max(last, xmax)
    },
    /** Whether one is due, as all transactions before `xmin` have ended. Each is due once. */
    isDue(xmin: number): boolean {
      if (first === null || xmin < first) return false
      // Of those in between some may end before the last: the next one to end makes another due.
      first = xmin < last ? xmin + 1 : null
      return true
    },
  }
}

/** Knows which arrivals were seen. */
export function createCursor() {
  let asked: Omit<ArrivalsAsked, 'shards'> | undefined
  /** When the former owner has begun whatever it still does; null: that was looked after. */
  let formerUntil_ms: number | null = null
  const horizons: Horizon[] = []
  const searches = createAwaitedSearches()

  /** Begins anew, with a search: after a fault it may be another server that answers, which lacks the last transactions. */
  function forget(): void {
    asked = undefined
    horizons.length = 0
  }

  return {
    /** What the next look asks. The first one finds nothing: it says where arrivals begin. */
    next: (): Omit<ArrivalsAsked, 'shards'> =>
      asked ?? {
        after: Number.MAX_SAFE_INTEGER,
        seenTo: Number.MAX_SAFE_INTEGER,
        snapshot: { xmin: 0, xmax: 0, xip: [] },
      },
    /**
     * Learns what the look has found.
     * @param leavesRest what it did not read is left to a search, and the next look goes on behind all that is there
     * @returns whether a search is due
     */
    learn({ fresh, late, top, snapshot }: Arrivals, now_ms: number, leavesRest = false): boolean {
      // Another server than before, to which the last transactions never came, gives their ids again.
      if (asked && top < asked.seenTo) forget()
      const hasBegun = asked !== undefined
      const isCut = hasBegun && fresh.length >= ARRIVALS_MAX
      const seenTo = isCut && !leavesRest ? (fresh.at(-1)?.id ?? top) : top
      const { passed, heldBy } = passHorizons(horizons, snapshot.xmin, now_ms)
      for (const xmax of heldBy) searches.add(xmax)
      asked = { after: asked ? Math.max(asked.after, passed) : top, seenTo, snapshot }
      if (now_ms - (horizons.at(-1)?.at_ms ?? Number.NEGATIVE_INFINITY) >= HORIZON_MS) {
        horizons.push({ top: seenTo, xmax: snapshot.xmax, at_ms: now_ms })
      }
      if (!hasBegun) {
        formerUntil_ms = now_ms + FORMER_MS
        return true
      }
      if (formerUntil_ms !== null && now_ms >= formerUntil_ms) {
        formerUntil_ms = null
        searches.add(snapshot.xmax)
      }
      // Of late ones that are too many for one look the others are never new again.
      if (late.length >= ARRIVALS_MAX || (isCut && leavesRest)) return true
      return searches.isDue(snapshot.xmin)
    },
    forget,
  }
}
