// How far the expiry of a mail moves along while it is kept waiting: by a breaker, or by the warm-up of its domain.

/** So many days after its acceptance mail expires at the latest that was kept waiting, unless it had longer from the start. */
const waitDaysMax = 7
const WAIT_MAX_MS = waitDaysMax * 24 * 60 * 60_000

/** The expiry of a mail that was kept waiting for so long, in ms: later by that, up to `waitDaysMax` days after its acceptance. */
export function movedExpiry(
  { created_at, expires_at }: { created_at: Date; expires_at: Date },
  wait_ms: number,
): Date {
  const latest = Math.max(expires_at.getTime(), created_at.getTime() + WAIT_MAX_MS)
  return new Date(Math.min(expires_at.getTime() + wait_ms, latest))
}
