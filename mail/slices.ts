// Between two slices of a long body others have their turn, and a very long one rests while they want the thread.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { giveWay } from '../runtime/giveWay.ts'

/** Bodies up to this size do not rest: a campaign with files, or an invoice for each customer, is no faster than its slices. */
const RESTING_BYTES = 8 * 1024 * 1024
/** The part of a busy thread that very long bodies get: 39 MB, some 3 s of work, then take half a minute, and other mail does not. */
const PART = 1 / 8

/**
 * Ends a slice.
 * @param began when the slice began, by `performance.now()`
 * @param bytes of the whole body, or its UTF-16 units
 */
export async function endSlice(began: number, bytes: number): Promise<void> {
  if (bytes <= RESTING_BYTES) await nextTurn()
  else await giveWay(performance.now() - began, PART)
}
