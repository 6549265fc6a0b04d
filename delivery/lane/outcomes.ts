// The outcomes that a lane has to write: which of them Postgres does not take now, and when all tries to write them have ended.
import { setTimeout as delay } from 'node:timers/promises'
import { takesNothing } from '../writeGroupOrEach.ts'

export type Outcomes = ReturnType<typeof createOutcomes>

/** @param late aborted when the time of a stop is over: then a last try is made */
export function createOutcomes(late: AbortSignal) {
  const over = new AbortController()
  const faults = new Map<number, unknown>()
  const writing = new Set<Promise<void>>()
  return {
    late,
    /** Aborted when nobody waits for the last tries any more. */
    over: over.signal,
    /** Notes what has kept the outcome of a delivery from being written, until its work has ended. */
    note: (id: number, fault: unknown) => void faults.set(id, fault),
    /** Adds the work of writing the outcome of a delivery. @returns the same work */
    add(id: number, work: Promise<void>): Promise<void> {
      const done = work.finally(() => {
        faults.delete(id)
        writing.delete(done)
      })
      writing.add(done)
      return done
    },
    /** Whether what is sent now would wait as those do that are there: Postgres takes nothing. */
    areStuck: () => takesNothing([...faults.values()]),
    /** Resolves when those that are being written now are, or are given up: after so long, ms, all of them. */
    async ended(wait_ms: number): Promise<void> {
      await Promise.race([Promise.allSettled(writing), delay(wait_ms, undefined, { ref: false })])
      over.abort()
    },
  }
}
