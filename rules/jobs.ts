// What jobs are about, and their states.

export const jobKinds = [
  'import',
  'stop',
  'release',
  'retry',
  'migration',
  'backtest',
  'erasure',
  'replay',
] as const
export type JobKind = (typeof jobKinds)[number]

export const jobStatuses = [
  'uploading',
  'queued',
  'running',
  'paused',
  'completed',
  'failed',
  'cancelled',
] as const
export type JobStatus = (typeof jobStatuses)[number]

/** The moves that a caller may ask for: from which states, and to which. */
export const jobMoves = {
  pause: { from: ['queued', 'running'], to: 'paused' },
  resume: { from: ['paused'], to: 'queued' },
  cancel: { from: ['uploading', 'queued', 'running', 'paused'], to: 'cancelled' },
} as const satisfies Record<string, { from: readonly JobStatus[]; to: JobStatus }>

export type JobMove = keyof typeof jobMoves

/** As `jobMoves`; an erasure is never cancelled, since it was promised, and one that has failed may be resumed. */
export function movesOf(
  kind: JobKind,
  move: JobMove,
): { from: readonly JobStatus[]; to: JobStatus } {
  const { from, to } = jobMoves[move]
  if (kind !== 'erasure') return { from, to }
  if (move === 'cancel') return { from: [], to }
  return move === 'resume' ? { from: [...from, 'failed'], to } : { from, to }
}
