// Bounds how many activities of one key (a workspace, a contact) are somewhere at once, such as segments of one workspace with the renderer. Each of them
// holds one of the few places that a worker has for such work, so others wait for a moment, and then come again later.
import { createRetries, type Spread } from './comingAgain.ts'

export interface Bounds extends Spread {
  /** Those of one key that are inside. */
  each: number
  /** How many of one key may wait. */
  waiting: number
  /** How many of all keys together: each of them holds a place of the worker meanwhile. */
  waitingOfAll: number
  /** How long one waits for a place; nobody waits where the oldest inside has been there for longer. */
  wait_ms: number
}

interface Line {
  /** When each of those inside entered, in ms of a clock that only goes forward; the oldest first. */
  inside: Set<{ entered_ms: number }>
  waiting: Set<() => void>
}

export type Places = ReturnType<typeof createPlaces>

/** Makes the places of one worker. */
export function createPlaces(bounds: Bounds) {
  const { each, wait_ms } = bounds
  const lines = new Map<string, Line>()
  const retries = createRetries(bounds)
  let waitingOfAll = 0

  function enter(key: string, line: Line): () => void {
    const one = { entered_ms: performance.now() }
    line.inside.add(one)
    return () => {
      line.inside.delete(one)
      retries.took(key, performance.now() - one.entered_ms, each)
      const [next] = line.waiting
      if (next) next()
      else if (line.inside.size === 0) lines.delete(key)
    }
  }

  const mayWait = ({ inside, waiting }: Line): boolean => {
    const [oldest] = inside
    // A timer may fire up to 1 ms early by this clock: who comes just after a wait has ended must find it long too.
    const long_ms = wait_ms - 1
    if (waiting.size >= bounds.waiting || waitingOfAll >= bounds.waitingOfAll) return false
    return !oldest || performance.now() - oldest.entered_ms < long_ms
  }

  return {
    /** Whether `take` would turn one of this key away now. */
    isFull(key: string): boolean {
      const line = lines.get(key)
      return line !== undefined && line.inside.size >= each && !mayWait(line)
    },
    /** Gives one that was turned away its place in the line. @returns in how many ms it comes again */
    retryAfter_ms: retries.next_ms,
    /**
     * Takes a place, at once or after a short wait.
     * @returns a function that gives it back; null when those before it take long: then it comes again later
     */
    take(key: string): Promise<(() => void) | null> {
      const line = lines.get(key) ?? { inside: new Set(), waiting: new Set() }
      lines.set(key, line)
      if (line.inside.size < each) return Promise.resolve(enter(key, line))
      if (!mayWait(line)) return Promise.resolve(null)
      waitingOfAll += 1
      return waitIn(line, wait_ms, () => enter(key, line)).finally(() => {
        waitingOfAll -= 1
      })
    },
  }
}

/** Waits until it is called, which it then answers by what `enter` gives; null after that time. */
function waitIn<T>({ waiting }: Line, wait_ms: number, enter: () => T): Promise<T | null> {
  return new Promise((resolve) => {
    const leave = () => {
      clearTimeout(timer)
      waiting.delete(called)
    }
    const called = () => {
      leave()
      resolve(enter())
    }
    const timer = setTimeout(() => {
      leave()
      resolve(null)
    }, wait_ms)
    waiting.add(called)
  })
}
