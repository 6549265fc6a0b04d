// How the cost of work grows with its input: what a busy machine makes slow, it makes slow at both sizes.
import { expect } from 'vitest'

/** The whole input, and a share of it. */
const SHARE = 1 / 8
/** Linear work costs 8 times as much, quadratic work 64 times. */
const GROWTH_MAX = 24
/** A cost below says more of the collector of garbage than of the work. */
const FLOOR_MS = 5
const TRIES = 3

/** Time of the processor that work takes in this process, in ms. */
export async function cpuOf(work: () => unknown): Promise<number> {
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

/**
 * Fails when work grows much faster than its input.
 * @param work given the share of the whole input that it is to be done for, 1 or an eighth
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
