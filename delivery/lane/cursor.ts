// Which arrivals a lane has seen: ids are given in order, but the transactions that write them end in any order.
import { ARRIVALS_MAX, type Arrivals, type ArrivalsAsked } from '../../db/deliveries/lines.ts'

/** How long the ids behind an unfinished transaction are looked at again: one gets its id a moment before it is seen to have begun. */
const SETTLE_MS = 200
/** How often it is noted how far the ids go, and how many such notes a transaction that does not end may hold up. */
const NOTE_MS = 50
const NOTES_MAX = 200

/** How far the ids went when no transaction had begun from `xmax` on. */
interface Note {
  top: number
  xmax: number
  at_ms: number
}

/** Knows which arrivals were seen. */
export function createCursor() {
  /** Whatever has an id up to `after` was seen, or a search finds it. */
  let asked: Omit<ArrivalsAsked, 'shards'> | undefined
  const notes: Note[] = []
  /** Once all transactions before this one have ended, a search finds what they have written. */
  let searchFrom: number | null = null

  /** Up to which id everything is decided and was seen. */
  function decided(after: number, seen: number, xmin: number, now_ms: number): number {
    let up = after
    for (let [first] = notes; first; [first] = notes) {
      if (first.xmax > xmin || now_ms - first.at_ms < SETTLE_MS) break
      up = Math.max(up, Math.min(first.top, seen))
      if (first.top > seen) break
      notes.shift()
    }
    const [held] = notes.length > NOTES_MAX ? notes.splice(0, 1) : []
    if (!held) return up
    searchFrom = held.xmax
    return Math.max(up, Math.min(held.top, seen))
  }

  /** Begins anew, with a search: after a fault it may be another server that answers, which lacks the last transactions. */
  function forget(): void {
    asked = undefined
    notes.length = 0
  }

  return {
    /** What the next look asks. The first one finds nothing: it says where arrivals begin. */
    next: (): Omit<ArrivalsAsked, 'shards'> =>
      asked ?? { after: Number.MAX_SAFE_INTEGER, read: Number.MAX_SAFE_INTEGER, xmin: 0 },
    /** Learns what the look has found. @returns whether a search is due */
    learn({ rows, top, xmin, xmax }: Arrivals, now_ms: number): boolean {
      // Another server than before, to which the last transactions never came, gives their ids again.
      if (asked && top < asked.read) forget()
      const seen = rows.length < ARRIVALS_MAX ? top : (rows.at(-1)?.id ?? top)
      if (asked) {
        // Of a look that was cut short nothing is known behind its end.
        asked = { after: decided(asked.after, seen, xmin, now_ms), read: seen, xmin }
      } else {
        asked = { after: top, read: top, xmin }
        searchFrom = xmax
      }
      if (now_ms - (notes.at(-1)?.at_ms ?? Number.NEGATIVE_INFINITY) >= NOTE_MS) {
        notes.push({ top: asked.read, xmax, at_ms: now_ms })
      }
      if (searchFrom === null || xmin < searchFrom) return false
      searchFrom = null
      return true
    },
    forget,
  }
}
