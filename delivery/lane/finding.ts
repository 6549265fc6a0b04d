// Finds the waiting mail of a lane for its memory: what was accepted by its ids, all else by a search through its lines.
import { setTimeout as pause } from 'node:timers/promises'
import type { Trx } from '../../db/connect.ts'
import {
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
import { createCursor } from './cursor.ts'
import type { Line } from './line.ts'
import type { Lines } from './lines.ts'

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

/** Makes what finds the mail of a lane. The first look begins a search through all its lines. */
export function createFinding(deps: FindingDeps) {
  const { read, shards, lines, quietly } = deps
  const cursor = createCursor()
  let searching: Promise<void> | undefined
  let isSearchDue = false
  let searchAt_ms = Number.NEGATIVE_INFINITY

  const searchOnce = async () => {
    isSearchDue = false
    searchAt_ms = performance.now() + FAULT_MS
    const took_ms = await searchAll(deps)
    searchAt_ms = performance.now() + Math.max(SEARCH_MS, took_ms * SEARCH_REST)
  }

  /** Begins a search where one is due, and does not wait for it. */
  function search(): void {
    const isDue = isSearchDue || performance.now() >= searchAt_ms
    if (searching || (!isDue && !lines.nextPartial())) return
    const work = isDue ? searchOnce : () => searchPartial(deps)
    searching = quietly('searching its lines', work).then(() => {
      searching = undefined
    })
  }

  /** Looks for what has come. */
  async function look(): Promise<void> {
    const asked = { shards, ...cursor.next() }
    const now_ms = performance.now()
    const arrivals = await read((db) => listArrivals(db, asked)).catch((err) => {
      cursor.forget()
      throw err
    })
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

/** Searches all lines. While it rests between two statements, the lane claims what was found. @returns for how long, ms */
async function searchAll({ read, shards, lines, onFound, over }: FindingDeps): Promise<number> {
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
  return took_ms
}

/** Searches on in workspaces that have more lines than their share, and room for others now. */
async function searchPartial({ read, shards, lines, onFound, over }: FindingDeps): Promise<void> {
  for (let after = lines.nextPartial(); after && !over.aborted; after = lines.nextPartial()) {
    const asked: LinesAsked = { shards, after }
    lines.foundBehind(after, await read((db) => listLines(db, asked)))
    onFound()
  }
}
