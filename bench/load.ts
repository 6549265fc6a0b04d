// Generates load: N loops, each of which does one operation after the other, for a time or a number of operations.

export interface LoadBounds {
  /** Operations under way at a time. */
  loops: number
  /** Starts no operation after this time. If absent, `count` bounds the run. */
  seconds?: number
  /** Total number of operations. */
  count?: number
}

export interface LoadResult {
  /** Operations that ended within the time. */
  in_time: number
  /** All operations, also those that ended after the time. */
  done: number
  per_second: number
}

/** Runs `operation` with the number of the operation and of its loop. The first error ends the run. */
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
