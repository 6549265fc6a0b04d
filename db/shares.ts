// Shares a fixed number of places between owners, so that none holds so many that the others wait for it.
import { limits } from '../rules/limits.ts'
import type { Owner } from './scope.ts'

type Kind = Owner['kind']
const KINDS: readonly Kind[] = ['workspace', 'process', 'anonymous']

/** No place became free in time, too many wait for one already, or those before it stand still. */
export class NoPlace extends Error {}

/** The client went away while it waited. */
export class ClientGone extends Error {}

export interface Waiter {
  enter: () => void
}

interface Line {
  readonly name: string
  readonly kind: Kind
  held: number
  readonly waiting: Waiter[]
  /** When a place of it was last taken or given back, in ms of a clock that only goes forward. */
  moved_ms: number
}

export interface Shares {
  /**
   * Takes a place, at once or in turn.
   * @returns a function that gives it back; further calls do nothing
   * @throws NoPlace after `waitMs` (usually 5 s), when the owner's line stands still, or at once if it is full; ClientGone when `signal` is aborted
   */
  take(owner: Owner, signal: AbortSignal | null): Promise<() => void>
  /** Places that are taken, and owners that hold or wait. */
  counts(): { taken: number; waiting: number; owners: number }
}

interface Bounds {
  waitMs: number
  /** Waiters of one owner. */
  lineMax: number
  /** Nobody waits where no place of the owner was taken or given back for so long. */
  stillMs: number
  /** Whether each kind of owner has places for itself. */
  reserves: boolean
}

const usual: Bounds = {
  waitMs: limits.placeWaitMsMax,
  lineMax: limits.placesWaitedForMax,
  stillMs: Number.POSITIVE_INFINITY,
  reserves: true,
}

/**
 * Makes shares of `size` places. An owner may take a place while it holds fewer than are free: alone it gets half
 * of them, two that want all get a third each, and so on, and one place at least stays free for a newcomer. Each
 * workspace is an owner; so are the look-ups of keys together, and the public routes together. Each of these three
 * kinds has a tenth of the places (one at least) for itself, so that any number of owners of the others leaves it
 * some. With two places, look-ups and public routes have one together. Without `reserves`, for who has owners of one kind alone, all are shared.
 *
 * Who gets none waits in the line of its owner. Owners that wait take turns.
 */
export function createShares(size: number, given: Partial<Bounds> = {}): Shares {
  const bounds = { ...usual, ...given }
  const lines = new Map<string, Line>()
  /** Lines with somebody in them, the one whose turn is next first. */
  const turns = new Set<Line>()
  const places = createPlaces(size, bounds.reserves)

  const forget = (line: Line) => {
    if (line.waiting.length === 0) turns.delete(line)
    if (line.held === 0 && line.waiting.length === 0) lines.delete(line.name)
  }
  /** Lets in whoever may enter now, each line once before any of them twice. */
  const admit = () => {
    for (let admitted = true; admitted; ) {
      admitted = false
      for (const line of [...turns]) {
        if (!places.mayTake(line)) continue
        turns.delete(line)
        const waiter = line.waiting.shift()
        // The last one may have left just now.
        if (!waiter) continue
        if (line.waiting.length > 0) turns.add(line)
        places.enter(line)
        waiter.enter()
        admitted = true
      }
    }
  }
  const leave = (line: Line) => {
    places.leave(line)
    forget(line)
    admit()
  }

  return {
    async take(owner, signal) {
      if (signal?.aborted) throw new ClientGone('the client has gone')
      const name = owner.kind === 'workspace' ? owner.workspaceId : owner.kind
      const line = lines.get(name) ?? createLine(name, owner.kind)
      lines.set(name, line)
      if (line.waiting.length === 0 && places.mayTake(line)) places.enter(line)
      else {
        if (line.waiting.length >= bounds.lineMax) throw new NoPlace('too many wait already')
        turns.add(line)
        await waitFor(line, signal, bounds).catch((err: unknown) => {
          forget(line)
          throw err
        })
      }
      return once(() => leave(line))
    },
    counts() {
      const waiting = [...turns].reduce((sum, line) => sum + line.waiting.length, 0)
      return { taken: places.taken(), waiting, owners: lines.size }
    },
  }
}

function createLine(name: string, kind: Kind): Line {
  return { name, kind, held: 0, waiting: [], moved_ms: performance.now() }
}

const waitFor = (line: Line, signal: AbortSignal | null, { waitMs, stillMs }: Bounds) =>
  waitIn(line, signal, waitMs, () => line.moved_ms + stillMs)

/** Makes a function whose further calls do nothing. */
function once(work: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    work()
  }
}

/**
 * Waits at the end of a line until it may enter.
 * @param still_ms when the line has stood still for too long unless it moves before, by `performance.now()`
 * @throws NoPlace, ClientGone; it is out of the line then
 */
export function waitIn(
  line: { waiting: Waiter[] },
  signal: AbortSignal | null,
  waitMs: number,
  still_ms: () => number = () => Number.POSITIVE_INFINITY,
): Promise<void> {
  const end_ms = performance.now() + waitMs
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout
    const stop = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
    const waiter: Waiter = {
      enter: () => {
        stop()
        resolve()
      },
    }
    const leave = (err: Error) => {
      stop()
      line.waiting.splice(line.waiting.indexOf(waiter), 1)
      reject(err)
    }
    const onAbort = () => leave(new ClientGone('the client went away while it waited'))
    const look = () => {
      const left_ms = Math.min(end_ms, still_ms()) - performance.now()
      if (left_ms <= 0) leave(new NoPlace('no place became free in time'))
      else timer = setTimeout(look, Math.ceil(left_ms))
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    line.waiting.push(waiter)
    look()
  })
}

/** Counts the places that are taken, and knows who may take another one. */
function createPlaces(size: number, reserves: boolean) {
  const taken = { workspace: 0, process: 0, anonymous: 0 }
  let free = size
  const own = reserve(reserves ? size : 0)
  return {
    mayTake: ({ kind, held }: Line): boolean => held < free && free > own.keptFrom(kind, taken),
    enter(line: Line) {
      line.held++
      line.moved_ms = performance.now()
      taken[line.kind]++
      free--
    },
    leave(line: Line) {
      line.held--
      line.moved_ms = performance.now()
      taken[line.kind]--
      free++
    },
    taken: () => size - free,
  }
}

/** How many places each kind has for itself. @param size 0: none */
function reserve(size: number) {
  const each = size < 2 ? 0 : Math.max(1, Math.floor(size / 10))
  const groups: Kind[][] =
    size < KINDS.length ? [['workspace'], ['process', 'anonymous']] : KINDS.map((kind) => [kind])
  return {
    /** Free places that a kind must leave to the others, which have not taken their own yet. */
    keptFrom(kind: Kind, taken: Record<Kind, number>): number {
      let kept = 0
      for (const group of groups) {
        if (group.includes(kind)) continue
        let held = 0
        for (const member of group) held += taken[member]
        if (held < each) kept += each - held
      }
      return kept
    },
  }
}
