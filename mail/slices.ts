// Goes through a long body in slices: between two of them others have their turn.
import { giveWay } from '../runtime/giveWay.ts'

/** 39 MB, some 3 s of work, then take half a minute on a busy thread, while other mail goes out on time. */
const PART = 1 / 8

/**
 * Ends a slice.
 * @param began when the slice began, by `performance.now()`
 * @param bytes of the whole body, or its UTF-16 units
 */
export const endSlice = (began: number, bytes: number): Promise<void> =>
  giveWay({ took_ms: performance.now() - began, bytes, part: PART })

/** The bytes of a body that is in pieces, in slices of at most so many; after as many bytes a slice ends. */
export async function* inSlices(
  pieces: readonly Buffer[],
  sliceBytes: number,
): AsyncGenerator<Buffer> {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  let fed = 0
  let began = performance.now()
  for (const piece of pieces) {
    for (let start = 0; start < piece.length; start += sliceBytes) {
      if (fed >= sliceBytes) {
        await endSlice(began, bytes)
        fed = 0
        began = performance.now()
      }
      const slice = piece.subarray(start, start + sliceBytes)
      yield slice
      fed += slice.length
    }
  }
}
