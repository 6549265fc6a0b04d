// The outcomes that a lane has to write: which of them Postgres does not take now, and when all tries to write them have ended.
import { takesNothing } from '../writeGroupOrEach.ts'

export type Outcomes = ReturnType<typeof createOutcomes>

/** @param late aborted when the process waits for them no longer */
export function createOutcomes(late: AbortSignal) {
  const faults = new Map<number, unknown>()
  const writing = new Set<Promise<void>>()
  return {
    late,
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
    /** Resolves when those that are being written now are, or are given up. */
    ended: () => Promise.allSettled(writing),
  }
}
