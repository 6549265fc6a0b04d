// Checks how the cost of work grows with its input. It compares two sizes, so that a slow machine does not matter.
import { expect } from 'vitest'

/** The smaller size, as a share of the whole input. */
const SHARE = 1 / 8
/** For an eighth of the input linear work costs an eighth, quadratic work a 64th. */
const GROWTH_MAX = 24
/** Smaller costs depend more on the garbage collector than on the work. */
const FLOOR_MS = 5
const TRIES = 3

/** CPU time of `work` in this process, in ms. */
export async function cpuOf(work: () => unknown): Promise<number> {
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

/**
 * Fails when work grows much faster than its input.
 * @param work gets the share of the whole input to use: 1 or an eighth
 */
export async function expectLinear(work: (share: number) => unknown): Promise<void> {
  let [part, whole] = [0, 0]
  for (let tries = 0; tries < TRIES; tries++) {
    part = Math.max(part, FLOOR_MS, await cpuOf(() => work(SHARE)))
    whole = await cpuOf(() => work(1))
    if (whole < part * GROWTH_MAX) return
  }
  expect(whole / part, 'cost of all by the cost of an eighth').toBeLessThan(GROWTH_MAX)
}
