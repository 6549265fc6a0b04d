// A wake-up signal that is not lost if nobody waits for it yet.

/** `next` waits for a `beat` or the timeout. A beat between two waits ends the next wait at once. */
export function createPulse() {
  let beaten = false
  let wake: (() => void) | undefined
  return {
    beat() {
      beaten = true
      wake?.()
    },
    async next(timeout_ms: number) {
      if (!beaten) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeout_ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
        wake = undefined
      }
      beaten = false
    },
  }
}
