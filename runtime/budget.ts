// Limits how many bytes are in use at a time: work that does not fit waits until earlier work is done.
import { createFairBudget } from './fairBudget.ts'

/**
 * Makes a function that runs work when its bytes fit, in the order of the calls. Work that is larger than the
 * whole budget runs alone; work of 0 bytes runs at once.
 */
export function createBudget(bytesMax: number) {
  // All of it is of one owner, so there are no turns.
  const inOrder = createFairBudget({ bytesMax, ownerBytesMax: bytesMax })
  return async <T>(bytes: number, work: () => Promise<T>): Promise<T> =>
    bytes === 0 ? work() : inOrder('', bytes, work)
}
