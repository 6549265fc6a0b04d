// Makes the problem of a design or a segment with which events would meet more conditions than they may.
import type { Problem } from '../../rules/design/problem.ts'
import { MEBIBYTE } from '../../rules/limits.ts'

/**
 * The problem of what is too large with all that is active.
 * @param path where in the design or the segment it stands
 * @param what whose JSON is counted
 * @param bytesMax of `limits`
 */
export const tooMuchMet = (path: string, what: string, bytesMax: number): Problem => ({
  node_id: null,
  path,
  message: `${what} must not exceed ${bytesMax / MEBIBYTE} MiB of JSON in all active workflows together; make them smaller, or pause a workflow`,
  code: 'too_large',
})

/** Of segments, those that they name included. */
export const SEGMENTS_MET =
  'the conditions of segments at which workflows begin, with those of segments that they name,'
