// The limits for reading bodies: memory in use at once, pace, and the wait for memory.
import { limits, MEBIBYTE } from '../../../rules/limits.ts'

/** What may be in memory at once. A test chooses smaller numbers. */
export interface BudgetRules {
  /** Of all bodies that are being read or worked on. */
  processBytesMax: number
  /** The share of one workspace. */
  workspaceBytesMax: number
  /** The part of `processBytesMax` that only bodies counted with at most `smallBytesMax` use. */
  reserveBytes: number
  smallBytesMax: number
  /** How long a body waits for its turn. */
  wait_ms: number
}

/** How slowly a body may come. Time counts only while the service is ready to read. */
export interface PaceRules {
  /** No rate is asked for before that. */
  grace_ms: number
  /** On average, over the time that was spent waiting for the client. */
  bytesPerSecondMin: number
  /** The same, from when this body is the largest of those whose memory others wait for. */
  contendedBytesPerSecondMin: number
  /** The longest time without one byte. */
  silent_ms: number
}

export interface BodyRules extends BudgetRules, PaceRules {
  /** A body up to this size is not counted. */
  freeBytesMax: number
}

/**
 * The largest body (128 MiB, which counts as 135) fits the share of a workspace, and no workspace has more than half of
 * everything. Two of the largest leave the reserve free.
 */
export const bodyRules: BodyRules = {
  processBytesMax: 288 * MEBIBYTE,
  workspaceBytesMax: 144 * MEBIBYTE,
  reserveBytes: 16 * MEBIBYTE,
  smallBytesMax: 2 * MEBIBYTE,
  wait_ms: 30_000,
  grace_ms: 10_000,
  bytesPerSecondMin: 10_000,
  contendedBytesPerSecondMin: 256_000,
  silent_ms: 30_000,
  freeBytesMax: 64 * 1024,
}

/** What one byte of parsed JSON may cost in memory, beside itself: `[],[],` is the dearest. */
const PARSED_FACTOR = 7

/**
 * The memory that a body is counted with. What is parsed costs several times its bytes; of an email's body that is all
 * but the large texts, 1 MiB at most.
 */
export function countedBytes(bytes: number): number {
  return bytes + PARSED_FACTOR * Math.min(bytes, limits.requestBytesMax)
}
