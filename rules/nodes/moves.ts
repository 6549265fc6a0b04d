// The moves that kinds have in common: ending, failing, and going on without having done it.
import type { End } from '../interpreterTypes.ts'
import type { Move, Room } from './define.ts'

export function completed(outcome = 'completed'): End {
  return { kind: 'end', status: 'COMPLETED', outcome, error: null }
}

export function failed(error: string): End {
  return { kind: 'end', status: 'FAILED', outcome: null, error }
}

/** Goes on by `skipped` where that is wired, else by `default`. */
export function skip(why: string, room: Room): Move {
  return { handle: room.isWired('skipped') ? 'skipped' : 'default', why }
}

/** A step that failed: its own handle first, then what the settings say. */
export function failStep(why: string, room: Room): Move {
  if (room.isWired('failed')) return { handle: 'failed', why }
  if (room.settings.on_step_failure === 'continue') return { handle: 'default', why }
  return { end: failed(`${room.nodeId}: ${why}`), why }
}
