// Whether Temporal answers at all: while it does not, one batch at a time asks for it, after growing pauses and with few lines
// in the log.
import type { Log } from '../runtime/log.ts'

const PAUSE_MS = 1_000
const PAUSE_MS_MAX = 30_000
/** How often it is logged that Temporal is still away. */
const TELL_MS = 60_000

/** Keeps in mind what the batches of one starter heard of Temporal. */
export function createOutage({ log, now }: { log: Log; now: () => Date }) {
  let pause_ms = 0
  let told_at: number | undefined
  let untold = 0
  let answered_at = Number.NEGATIVE_INFINITY
  return {
    /** Temporal has answered about a row, whatever it said. */
    answered(): void {
      answered_at = performance.now()
      if (pause_ms === 0) return
      log.info('Temporal answers again')
      pause_ms = 0
      told_at = undefined
    },
    /** Whether Temporal has answered since, by the clock of `performance`. */
    hasAnsweredSince: (at: number): boolean => answered_at >= at,
    /** Temporal could not be asked about so many rows. @param wholly whether this was a whole batch of several rows */
    away(err: unknown, count: number, wholly: boolean): void {
      untold += count
      if (wholly) pause_ms = Math.min(PAUSE_MS_MAX, pause_ms * 2 || PAUSE_MS)
      const at = now().getTime()
      if (told_at !== undefined && at - told_at < TELL_MS) return
      log.warn({ err, count: untold }, 'Temporal could not be asked; trying again')
      told_at = at
      untold = 0
    },
    /** How long to wait before the next batch, in ms; 0 while Temporal answers. */
    pause_ms: (): number => pause_ms,
  }
}
