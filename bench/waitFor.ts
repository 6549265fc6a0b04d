// Polls until a state is reached, with a deadline.
import { setTimeout as pause } from 'node:timers/promises'

const POLL_MS = 100

/** Calls `look` until it returns a value. @returns the first value that is not undefined */
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
