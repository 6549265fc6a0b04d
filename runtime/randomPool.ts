// Random bytes for what is made very often: one call to the system serves many, because the call costs more than the rest of an id.
import { randomFillSync } from 'node:crypto'

/** How often a pool serves before it is filled again. */
const SERVES = 256

/** Makes a function that fills an array of `size` bytes. What was given away is kept by nobody else. */
export function createRandomPool(size: number): (target: Uint8Array) => void {
  const pool = new Uint8Array(size * SERVES)
  let used = pool.length
  return (target) => {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    const end = used + size
    target.set(pool.subarray(used, end))
    pool.fill(0, used, end)
    used = end
  }
}
