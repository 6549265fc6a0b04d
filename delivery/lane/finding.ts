// Finds the waiting mail of a lane for its memory: what was accepted by its ids, all else by a search through its lines.
import { setTimeout as pause } from 'node:timers/promises'
import type { Trx } from '../../db/connect.ts'
import {
  ARRIVALS_MAX,
  BEFORE_ALL_LINES,
  behindWorkspace,
  type LineKey,
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
 * waits at least, up to a bound: beside a snapshot that is held open a search passes all that was sent since.
 */
const SEARCH_MS = 60_000
const SEARCH_REST_FACTOR = 100
const SEARCH_MS_MAX = 300_000
/** The pause after a search that failed. */
const FAULT_MS = 2_000
/**
 * How many looks follow each other at once while each finds as many arrivals as it may. The rest may be a million mails of a campaign with
 * somebody's receipt behind them: it is left to a search, which reads the first of each line, however long the lines are.
 */
const LOOKS_MAX = 5

/** What a lane finds its mail by. */
export interface FindingDeps {
  /** Runs a statement on a connection that has `claimSettings`. */
  run: <T>(work: (db: Trx) => Promise<T>) => Promise<T>
  shards: ShardRange
  lines: Lines
  /** Runs work and logs what it throws. */
  quietly: (what: string, work: () => Promise<unknown>) => Promise<void>
  /** Called when a search has found something. */
  onFound: () => void
  /** Aborted when the lane claims no more. */
  over: AbortSignal
}

/** Makes the searches of a lane. One that is due does not wait for claims, nor they for it. */
function createSearches(deps: FindingDeps) {
  const { lines, quietly, over } = deps
  let searching: Promise<void> | undefined
  let isDue = false
  let dueAt_ms = Number.NEGATIVE_INFINITY
  /** Where a search goes on that has failed. */
  let searchedTo: LineKey = BEFORE_ALL_LINES

  const searchAll = async () => {
    isDue = false
    dueAt_ms = performance.now() + FAULT_MS
    let took_ms = 0
    do {
      const began_ms = performance.now()
      searchedTo = await searchPage(deps, searchedTo)
      const statement_ms = performance.now() - began_ms
      took_ms += statement_ms
      // While it rests the lane claims what was found.
      if (searchedTo !== BEFORE_ALL_LINES) await pause(statement_ms)
    } while (searchedTo !== BEFORE_ALL_LINES && !over.aborted)
    const rest_ms = Math.min(SEARCH_MS_MAX, Math.max(SEARCH_MS, took_ms * SEARCH_REST_FACTOR))
    dueAt_ms = performance.now() + rest_ms
  }

  return {
    /** Says that a search is due. */
    soon(): void {
      isDue = true
    },
    /** Begins a search where one is due, and does not wait for it. */
    begin(): void {
      const isAll = isDue || performance.now() >= dueAt_ms
      if (searching || (!isAll && !lines.hasPartial())) return
      const work = isAll ? searchAll : () => searchPartial(deps)
      searching = quietly('searching its lines', work).then(() => {
        searching = undefined
      })
    },
    /** Waits for the search that is under way. */
    ended: async (): Promise<void> => searching,
  }
}

/** Makes what finds the mail of a lane. The first look begins a search through all its lines. */
export function createFinding(deps: FindingDeps) {
  const { run, shards, lines } = deps
  const cursor = createCursor()
  const searches = createSearches(deps)

  /** Looks for what has come. */
  async function look(): Promise<void> {
    let mayBeMore = true
    for (let looks = 1; mayBeMore && looks <= LOOKS_MAX; looks++) {
      mayBeMore = await lookOnce(looks === LOOKS_MAX)
    }
    searches.begin()
  }

  /** @returns whether there may be more that has come */
  async function lookOnce(isLast: boolean): Promise<boolean> {
    const asked = { shards, ...cursor.next() }
    const now_ms = performance.now()
    const arrivals = await run((db) => listArrivals(db, asked)).catch((err) => {
      cursor.forget()
      throw err
    })
    lines.arrived(arrivals.late)
    lines.arrived(arrivals.fresh)
    if (cursor.learn(arrivals, now_ms, isLast)) searches.soon()
    return arrivals.fresh.length >= ARRIVALS_MAX
  }

  return {
    look,
    search: searches.begin,
    searchSoon: searches.soon,
    /** Looks for the first time, and waits for the search that this begins. */
    async begin(): Promise<void> {
      await look()
      await searches.ended()
    },
    /** Reads more of some lines. */
    async readMore(toRead: readonly Line[]): Promise<void> {
      const asked = lines.ask(toRead)
      const each = lines.rowsPerRead()
      lines.learnRead(asked, await run((db) => readLines(db, asked, each)), each)
    },
  }
}

/** Searches of all lanes of a process take turns, because each holds one of the connections by which they claim. */
let lastSearch: Promise<unknown> = Promise.resolve()

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const next = lastSearch.then(work)
  lastSearch = next.catch(() => undefined)
  return next
}

/** Searches some of the lines behind one. @returns where to go on: before all lines, if there are no more */
async function searchPage(
  { run, shards, lines, onFound }: FindingDeps,
  after: LineKey,
): Promise<LineKey> {
  const { heads, next } = await inTurn(() => run((db) => listLines(db, { shards, after })))
  lines.found(heads)
  if (heads.length > 0) onFound()
  if (!next) return BEFORE_ALL_LINES
  return lines.skipsFrom(next) ? behindWorkspace(next) : next
}

/**
 * Searches on in workspaces that have more lines than their share, and room for others now. It ends after as many statements as there
 * are such workspaces: they may have room again by then, and a search through all lines must get its turn.
 */
async function searchPartial({ run, shards, lines, onFound, over }: FindingDeps): Promise<void> {
  for (let left = lines.partialCount(); left > 0 && !over.aborted; left--) {
    const after = lines.askPartial()
    if (!after) return
    const asked = { shards, after }
    lines.foundBehind(after, await inTurn(() => run((db) => listLines(db, asked))))
    onFound()
  }
}
