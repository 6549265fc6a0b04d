// Lets ordinary work of one kind run side by side in this process, and a suspect alone.
import { hurry } from './giveWay.ts'

/** A suspect is not alone, and so must not go on: it is to be tried again later. */
export class NotAlone extends Error {}

interface Times {
  /** How long a suspect waits for those under way, while others wait for it. */
  drain_ms: number
  /** How long it may then keep others waiting. */
  alone_ms: number
}

const TIMES: Times = { drain_ms: 2_000, alone_ms: 10_000 }

/** What work is told. `isAlone` is false for an ordinary one, and once a suspect's time alone is over. */
export interface Turn {
  isAlone: () => boolean
}

type Work<T> = (turn: Turn) => Promise<T>

/**
 * Suspects and ordinary segments take turns: while a suspect waits no further ordinary one begins, and after it those
 * that wait go before the next suspect. Long work does not rest while a suspect waits or is alone, since all others wait for it.
 */
export function createGate({ drain_ms, alone_ms }: Times = TIMES, hurryAll = hurry) {
  const places = createPlaces(drain_ms, hurryAll)

  async function runShared<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
    await places.enter(signal)
    try {
      return await work({ isAlone: () => false })
    } finally {
      places.leave()
    }
  }

  async function runAlone<T>(work: Work<T>, signal: AbortSignal | undefined): Promise<T> {
    if (!(await places.take(signal))) throw new NotAlone('a suspect found no moment to run alone')
    let isAlone = true
    const giveBack = () => {
      if (isAlone) places.giveBack()
      isAlone = false
    }
    const timer = setTimeout(giveBack, alone_ms)
    try {
      return await work({ isAlone: () => isAlone })
    } finally {
      clearTimeout(timer)
      giveBack()
    }
  }

  return {
    /**
     * @param signal ends the wait: this try was given up, and another one waits by itself. Absent: nobody gives it up
     * @throws NotAlone when a suspect waits too long for those under way; the signal's reason
     */
    run<T>(isSuspect: boolean, work: Work<T>, signal?: AbortSignal): Promise<T> {
      return isSuspect ? runAlone(work, signal) : runShared(work, signal)
    },
  }
}

/** Those who wait, in their order. Each is called once, unless its signal was aborted before. */
function createLine<Called>() {
  const waiting = new Set<(called: Called) => void>()
  return {
    isEmpty: () => waiting.size === 0,
    wait(signal: AbortSignal | undefined): Promise<Called> {
      return new Promise((resolve, reject) => {
        signal?.throwIfAborted()
        const end = () => {
          waiting.delete(call)
          signal?.removeEventListener('abort', giveUp)
        }
        const call = (called: Called) => {
          end()
          resolve(called)
        }
        const giveUp = () => {
          end()
          reject(signal?.reason)
        }
        waiting.add(call)
        signal?.addEventListener('abort', giveUp)
      })
    },
    /** Calls the first one. @returns false if nobody waits */
    callNext(called: Called): boolean {
      const [first] = waiting
      first?.(called)
      return first !== undefined
    },
  }
}

/** Who is inside: any number of ordinary ones, or one suspect that has taken all places. */
function createPlaces(drain_ms: number, hurryAll: typeof hurry) {
  let inside = 0
  /** Ordinary ones that wait for a suspect. */
  const others = createLine<void>()
  /** They are told whether the others have left. */
  const suspects = createLine<boolean>()
  /** Set while a suspect waits for those inside, or has all places: ends the hurry of long work. */
  let taken: (() => void) | undefined
  let drained: (() => void) | undefined

  function giveBack(): void {
    taken?.()
    taken = undefined
    while (others.callNext()) inside += 1
    void admitSuspect()
  }

  async function admitSuspect(): Promise<void> {
    if (taken || suspects.isEmpty()) return
    taken = hurryAll()
    const isFree = inside === 0 || (await drain())
    // The one that waited may have been given up meanwhile.
    if (!suspects.callNext(isFree) || !isFree) giveBack()
  }

  function drain(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), drain_ms)
      drained = () => {
        clearTimeout(timer)
        resolve(true)
      }
    })
  }

  return {
    async enter(signal: AbortSignal | undefined): Promise<void> {
      // `giveBack` has counted it in `inside`.
      if (taken) await others.wait(signal)
      else inside += 1
    },
    leave(): void {
      inside -= 1
      if (inside === 0) drained?.()
    },
    /** Waits for its turn and for those inside. @returns false when they took too long */
    take(signal: AbortSignal | undefined): Promise<boolean> {
      const called = suspects.wait(signal)
      void admitSuspect()
      return called
    },
    giveBack,
  }
}
