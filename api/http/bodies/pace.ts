// Watches how fast one body comes. Time counts only while the service waits for the client.
import type { IncomingMessage } from 'node:http'
import { bodyTooSlow } from '../unavailable.ts'
import type { PaceRules } from './rules.ts'

/** How often a wait looks again whether other bodies wait. */
const LOOK_MS = 1_000
const EVENTS = ['readable', 'end', 'error', 'close'] as const

/** Makes the watch of one body. @param isInTheWay whether others wait for the memory that it holds */
export function createPace(rules: PaceRules, isInTheWay: () => boolean) {
  let waited_ms = 0
  let bytes = 0

  /** What had been waited and had come when others began to wait for this body's memory. */
  let before: { waited_ms: number; bytes: number } | undefined

  /** How much longer the client may take for its next bytes, by the usual pace and by that for a body in the way. */
  const left_ms = () => {
    const usual_ms = Math.max(rules.grace_ms, (bytes / rules.bytesPerSecondMin) * 1000) - waited_ms
    before = isInTheWay() ? (before ?? { waited_ms, bytes }) : undefined
    if (!before) return { usual_ms, faster_ms: usual_ms }
    const asked_ms = ((bytes - before.bytes) / rules.contendedBytesPerSecondMin) * 1000
    const faster_ms = Math.max(rules.grace_ms, asked_ms) - (waited_ms - before.waited_ms)
    return { usual_ms, faster_ms }
  }

  /** @throws ApiError 408 that names the pace that was not kept. @returns what is left of the time */
  const check = (): number => {
    const { usual_ms, faster_ms } = left_ms()
    if (usual_ms > 0 && faster_ms > 0) return Math.min(usual_ms, faster_ms)
    const [perSecond, when] =
      usual_ms > 0
        ? [rules.contendedBytesPerSecondMin, 'while other bodies wait for its memory']
        : [rules.bytesPerSecondMin, `after ${rules.grace_ms / 1000} seconds`]
    throw bodyTooSlow(
      `The body came too slowly: ${bytes} bytes in ${inSeconds(waited_ms)} seconds; at least ${perSecond} bytes a second are asked for ${when}`,
    )
  }

  return {
    came(more: number) {
      bytes += more
    },
    /**
     * Waits until there is something to read, or the end.
     * @throws ApiError 408 `body_too_slow`
     */
    async wait(incoming: IncomingMessage): Promise<void> {
      const begin = performance.now()
      let silent_ms = 0
      for (;;) {
        if (rules.silent_ms <= silent_ms) {
          throw bodyTooSlow(
            `The body stopped for ${inSeconds(rules.silent_ms)} seconds after ${bytes} bytes`,
          )
        }
        const most_ms = Math.min(LOOK_MS, check(), rules.silent_ms - silent_ms)
        const came = await somethingHappens(incoming, most_ms)
        const spent_ms = performance.now() - begin - silent_ms
        silent_ms += spent_ms
        waited_ms += spent_ms
        if (came) {
          check()
          return
        }
      }
    },
  }
}

export type Pace = ReturnType<typeof createPace>

/** Resolves with true at the stream's next event, with false after a time. */
function somethingHappens(incoming: IncomingMessage, most_ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (came: boolean) => {
      clearTimeout(timer)
      for (const event of EVENTS) incoming.off(event, on)
      resolve(came)
    }
    const on = () => end(true)
    const timer = setTimeout(() => end(false), most_ms)
    for (const event of EVENTS) incoming.on(event, on)
  })
}

const inSeconds = (ms: number) => (ms / 1000).toFixed(1)
