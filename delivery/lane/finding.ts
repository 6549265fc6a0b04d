// Finds the waiting mail of a lane for its memory: what was accepted by its ids, all else by a search through its lines.
import { setTimeout as pause } from 'node:timers/promises'
import type { Trx } from '../../db/connect.ts'
import {
  ARRIVALS_MAX,
  type Arrivals,
  type ArrivalsAsked,
  FIRST_LINE,
  type FoundLines,
  type LineKey,
  type LinesAsked,
  lastLineOf,
  listArrivals,
  listLines,
  readLines,
  type ShardRange,
} from '../../db/deliveries/lines.ts'
import type { Line, Lines } from './lines.ts'

/** How long the ids behind an unfinished transaction are looked at again: one gets its id a moment before it is seen to have begun. */
const SETTLE_MS = 200
/** How often it is noted how far the ids go, and how many such notes a transaction that does not end may hold up. */
const NOTE_MS = 50
const NOTES_MAX = 200
/**
 * How often all lines are searched although nothing says that some are missing, and how many times as long as a search took it
 * waits at least: beside a snapshot that is held open a search passes all that was sent since.
 */
const SEARCH_MS = 60_000
const SEARCH_REST = 100
/** The pause after a search that failed. */
const FAULT_MS = 2_000

/** What a lane finds its mail by. */
export interface FindingDeps {
  /** Runs a statement on a connection that has `claimSettings`. */
  read: <T>(work: (db: Trx) => Promise<T>) => Promise<T>
  shards: ShardRange
  lines: Lines
  /** Runs work and logs what it throws. */
  quietly: (what: string, work: () => Promise<unknown>) => Promise<void>
  /** Called when a search has found something. */
  onFound: () => void
  /** Aborted when the lane claims no more. */
  over: AbortSignal
}

export type Finding = ReturnType<typeof createFinding>

/** How far the ids went when no transaction had begun from `xmax` on. */
interface Note {
  top: number
  xmax: number
  at_ms: number
}

/** Knows which arrivals were seen. Ids are given in order, but the transactions that write them end in any order. */
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

  return {
    /** What the next look asks. The first one finds nothing: it says where arrivals begin. */
    next: (): Omit<ArrivalsAsked, 'shards'> =>
      asked ?? { after: Number.MAX_SAFE_INTEGER, read: Number.MAX_SAFE_INTEGER, xmin: 0 },
    /** Learns what the look has found. @returns whether a search is due */
    learn({ rows, top, xmin, xmax }: Arrivals, now_ms: number): boolean {
      const seen = rows.length < ARRIVALS_MAX ? top : (rows.at(-1)?.id ?? top)
      if (asked) {
        const after = decided(asked.after, seen, xmin, now_ms)
        // Of a look that was cut short nothing is known behind its end.
        asked = { after, read: Math.max(asked.read, seen), xmin }
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
  }
}

/** Makes what finds the mail of a lane. The first look begins a search through all its lines. */
export function createFinding({ read, shards, lines, quietly, onFound, over }: FindingDeps) {
  const cursor = createCursor()
  let searching: Promise<void> | undefined
  let isSearchDue = false
  let searchAt_ms = Number.NEGATIVE_INFINITY

  /** Searches all lines. While it rests between two statements, the lane claims what was found. */
  async function searchAll(): Promise<void> {
    isSearchDue = false
    searchAt_ms = performance.now() + FAULT_MS
    let took_ms = 0
    let after: LineKey | null = FIRST_LINE
    while (after && !over.aborted) {
      const began = performance.now()
      const asked: LinesAsked = { shards, after }
      const { heads, next }: FoundLines = await read((db) => listLines(db, asked))
      lines.found(heads)
      if (heads.length > 0) onFound()
      // Of a workspace that has its share of lines the others are searched for later.
      after = next && lines.isFull(next) ? lastLineOf(next) : next
      const rest_ms = performance.now() - began
      took_ms += rest_ms
      if (after) await pause(rest_ms)
    }
    searchAt_ms = performance.now() + Math.max(SEARCH_MS, took_ms * SEARCH_REST)
  }

  /** Searches on in workspaces that have more lines than their share, and room for others now. */
  async function searchPartial(): Promise<void> {
    for (let after = lines.nextPartial(); after && !over.aborted; after = lines.nextPartial()) {
      const asked: LinesAsked = { shards, after }
      lines.foundBehind(after, await read((db) => listLines(db, asked)))
      onFound()
    }
  }

  /** Begins a search where one is due, and does not wait for it. */
  function search(): void {
    const isDue = isSearchDue || performance.now() >= searchAt_ms
    if (searching || (!isDue && !lines.nextPartial())) return
    searching = quietly('searching its lines', isDue ? searchAll : searchPartial).then(() => {
      searching = undefined
    })
  }

  /** Looks for what has come. */
  async function look(): Promise<void> {
    const asked = { shards, ...cursor.next() }
    const now_ms = performance.now()
    const arrivals = await read((db) => listArrivals(db, asked))
    lines.add(arrivals.rows)
    if (cursor.learn(arrivals, now_ms)) isSearchDue = true
    search()
  }

  return {
    look,
    search,
    /** Looks for the first time, and waits for the search that this begins. */
    async begin(): Promise<void> {
      await look()
      await searching
    },
    /** Reads more of some lines. */
    async readMore(unread: readonly Line[]): Promise<void> {
      const asked = lines.ask(unread)
      const each = lines.each()
      lines.read(asked, await read((db) => readLines(db, asked, each)), each)
    },
  }
}
