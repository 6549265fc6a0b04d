// How long npm start waits for its parts at a stop, before it kills them.
import { Variables } from '../../runtime/environment.ts'

/** A worker exits within this time after it has finished its mail. */
const EXIT_MS = 10_000
const BACKING_MS = 3_000
const REST_MS = 5_000

/**
 * @param env DRAIN_SECONDS: how long the worker finishes its mail
 * @returns `service_ms`: for API and worker; `backing_ms`: for each part that they use, after them; `all_ms`: more than
 * all of it takes
 */
export function stopWaits(env: Record<string, string | undefined>) {
  const given = Variables.shape.DRAIN_SECONDS.safeParse(env['DRAIN_SECONDS'] || undefined)
  // The worker does not start with a value that is none.
  const drain_s = given.success ? given.data : 0
  const service_ms = drain_s * 1000 + EXIT_MS
  return { service_ms, backing_ms: BACKING_MS, all_ms: service_ms + BACKING_MS + REST_MS }
}
