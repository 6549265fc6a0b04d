// Waits for a state that is polled, with a deadline.
import { setTimeout as pause } from 'node:timers/promises'

const POLL_MS = 100

/** @returns the first answer that is not undefined */
export async function waitFor<T>(
  deadline_ms: number,
  what: string,
  look: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = Date.now() + deadline_ms
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`not after ${deadline_ms / 1000} s: ${what}`)
    await pause(POLL_MS)
  }
}
