// Waits for a state instead of sleeping.
import { setTimeout as pause } from 'node:timers/promises'

const POLL_MS = 20
/** Only what hangs needs this long. A machine that is busy with other work takes several times as long as an idle one. */
const HUNG_MS = 60_000

/**
 * Calls `check` until it no longer throws, and returns what it returns. After `deadline_ms` the last
 * error is thrown, so that the test fails with what was seen.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { deadline_ms = HUNG_MS }: { deadline_ms?: number } = {},
): Promise<T> {
  const deadline = Date.now() + deadline_ms
  for (;;) {
    try {
      return await check()
    } catch (err) {
      if (Date.now() > deadline) throw err
    }
    await pause(POLL_MS)
  }
}
