// The places for connections of all destinations together. Who finds none waits, and destinations take turns.

/** One destination's connections. */
export interface PlaceHolder {
  /** A place may be free for it now. */
  wake(): void
  /** Closes the connection that was unused longest; null: there is none. */
  closeIdle(): Promise<void> | null
}

export interface Places {
  /** The most connections. */
  readonly max: number
  /** Whether a place is free for it. If not, it is woken in its turn. */
  ready(holder: PlaceHolder): boolean
  /** Takes a place, as far as `ready`. */
  take(holder: PlaceHolder): boolean
  /** Gives a place back, of a connection that is closed. */
  release(holder: PlaceHolder): void
  /** Opens a connection in a place that was taken. One that takes long leaves its place to others meanwhile. */
  opening<T>(holder: PlaceHolder, open: () => Promise<T>): Promise<T>
  /** Whether others wait, so that a connection without mail must be closed. */
  wanted(holder: PlaceHolder): boolean
  /** Whether others wait, and it is their turn on the place of this connection, which has sent so many messages. */
  yields(holder: PlaceHolder, messages: number): boolean
  /** Counts a connection that is being closed for others. */
  closing(work: Promise<void>): Promise<void>
}

/** While others wait, a connection gives its place to them after so many messages. */
const TURN_MESSAGES = 10
const SLOW_MS = 1_000

/**
 * Makes the places.
 * @param max Infinity: everybody finds one
 * @param slowMs a connection that is not open after this time waits for a server that does not answer
 */
export function createPlaces(max: number, slowMs: number = SLOW_MS): Places {
  const held = new Map<PlaceHolder, number>()
  /** In the order of their turns. */
  const wanting = new Set<PlaceHolder>()
  let taken = 0
  let closings = 0
  /** Whose turn it is. */
  let served: PlaceHolder | null = null

  const add = (holder: PlaceHolder, by: number) => {
    taken += by
    const left = (held.get(holder) ?? 0) + by
    if (left === 0) held.delete(holder)
    else held.set(holder, left)
  }

  function serve(): void {
    while (taken < max) {
      const [next] = wanting
      if (!next) return
      wanting.delete(next)
      served = next
      next.wake()
      served = null
    }
  }

  async function closing(work: Promise<void>): Promise<void> {
    closings += 1
    await work
    closings -= 1
  }

  /** Asks for the unused connection of another one. */
  function makeRoom(asking: PlaceHolder): void {
    if (closings >= wanting.size) return
    for (const holder of held.keys()) {
      const work = holder === asking ? null : holder.closeIdle()
      if (!work) continue
      void closing(work)
      return
    }
  }

  const wanted = (holder: PlaceHolder) =>
    wanting.size > (wanting.has(holder) ? 1 : 0) && closings < wanting.size

  function ready(holder: PlaceHolder): boolean {
    const others = wanting.size > (wanting.has(holder) ? 1 : 0)
    if (taken < max && (!others || served === holder)) return true
    if (!wanting.has(holder)) {
      wanting.add(holder)
      makeRoom(holder)
    }
    return false
  }

  function release(holder: PlaceHolder): void {
    add(holder, -1)
    // Who had this place waits behind those who had none.
    if (wanting.delete(holder)) wanting.add(holder)
    if (wanting.size > 0) queueMicrotask(serve)
  }

  return {
    max,
    ready,
    take(holder) {
      if (!ready(holder)) return false
      wanting.delete(holder)
      served = null
      add(holder, 1)
      return true
    },
    release,
    async opening(holder, open) {
      let left = false
      const timer = setTimeout(() => {
        left = true
        release(holder)
      }, slowMs)
      try {
        return await open()
      } finally {
        clearTimeout(timer)
        if (left) add(holder, 1)
      }
    },
    wanted,
    yields(holder, messages) {
      if (!wanted(holder)) return false
      const share = Math.max(1, Math.floor(max / (held.size + wanting.size)))
      return messages >= TURN_MESSAGES || (held.get(holder) ?? 0) > share
    },
    closing,
  }
}
