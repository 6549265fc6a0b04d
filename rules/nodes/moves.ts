// The moves that kinds have in common: ending, failing, and going on without having done it.
import type { End } from '../interpreterTypes.ts'
import type { Move, Place } from './define.ts'

/** The end of an execution that ran through; the outcome is `completed` unless the design names one. */
export function completed(outcome = 'completed'): End {
  return { kind: 'end', status: 'COMPLETED', outcome, error: null }
}

/**
 * The end of an execution by a fault.
 * @param error is stored and shown, as it is
 */
export function failed(error: string): End {
  return { kind: 'end', status: 'FAILED', outcome: null, error }
}

/** Goes on by `skipped` where that is wired, else by `default`. */
export function skip(why: string, place: Place): Move {
  return { handle: place.wired.has('skipped') ? 'skipped' : 'default', why }
}

/** Why any effect of a node may fail, for readers of the docs. */
export const CHAIN_TOO_LONG = 'the chain of executions that cause each other is too long'

/** When `failed` is taken, for readers of the docs. @param cause a sentence that begins in lower case, without its full stop */
export const failedText = (cause: string): string =>
  `${cause.charAt(0).toUpperCase()}${cause.slice(1)}. When no edge leaves by it, \`settings.on_step_failure\` decides`

/** A step that failed: its own handle first, then what the settings say. */
export function failStep(why: string, place: Place): Move {
  if (place.wired.has('failed')) return { handle: 'failed', why }
  if (place.settings.on_step_failure === 'continue') return { handle: 'default', why }
  return { end: failed(`${place.nodeId}: ${why}`), why }
}
