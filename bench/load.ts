// A closed loop of load: N workers, each doing one operation after the other, for a time or a number of operations.

export interface LoadBounds {
  /** Operations under way at a time. */
  loops: number
  /** Stops beginning operations after that time; without it, `count` bounds the run. */
  seconds?: number
  /** Operations in all. */
  count?: number
}

export interface LoadResult {
  /** Operations that ended within the time. */
  in_time: number
  /** All that ended, those that were under way at the end of the time among them. */
  done: number
  per_second: number
}

/** Runs `operation` with the number of the operation; the first error ends the run. */
export async function runLoad(
  { loops, seconds = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY }: LoadBounds,
  operation: (serial: number, loop: number) => Promise<void>,
): Promise<LoadResult> {
  const begin = performance.now()
  const deadline = begin + seconds * 1000
  let begun = 0
  let done = 0
  let inTime = 0
  let end = begin
  await Promise.all(
    Array.from({ length: loops }, async (_, loop) => {
      while (begun < count && performance.now() < deadline) {
        await operation(begun++, loop)
        done += 1
        const now = performance.now()
        if (now > deadline) continue
        inTime += 1
        end = now
      }
    }),
  )
  const elapsed_s = (Number.isFinite(seconds) ? deadline - begin : end - begin) / 1000
  return { in_time: inTime, done, per_second: inTime / elapsed_s }
}
