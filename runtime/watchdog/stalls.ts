// Looks, from a thread of its own, how long the main thread has been at one piece of work.

/** How often the thread looks. */
const TICK_MS = 250

/** One number that both threads see: odd while the main thread works, another one for each piece of work. */
export type Turns = Int32Array<SharedArrayBuffer>

export const createTurns = (): Turns => new Int32Array(new SharedArrayBuffer(4))

/** For the main thread: work begins, or ends. */
export const turn = (turns: Turns): void => void Atomics.add(turns, 0, 1)

export interface StallLimits {
  stall_ms: number
  end_ms: number
}

/**
 * Calls `stalled` once for a piece of work that takes longer than `stall_ms`, and `overdue` once when it takes longer
 * than `end_ms`. Time is counted by looks, so a machine that was suspended meanwhile adds none.
 * @returns a function that ends it
 */
export function watchStalls(
  turns: Turns,
  { stall_ms, end_ms }: StallLimits,
  on: { stalled: () => void; overdue: () => void },
): () => void {
  let seen = 0
  let looks = 0
  const timer = setInterval(() => {
    const now = Atomics.load(turns, 0)
    const isSame = now === seen && now % 2 !== 0
    seen = now
    looks = isSame ? looks + 1 : 0
    const is = (limit_ms: number) => looks === Math.ceil(limit_ms / TICK_MS)
    if (is(stall_ms)) on.stalled()
    if (is(end_ms)) on.overdue()
  }, TICK_MS)
  return () => clearInterval(timer)
}
