// Work that a process does again and again in the background.

interface Repeated {
  /** From one beginning to the next, ms; the first comes after one such span. */
  every_ms: number
  work: () => Promise<unknown>
  /** Tells of a failure, which ends nothing: the work is tried again when it is due. */
  onFailure: (err: unknown) => void
}

/** Begins to repeat. Work never runs beside itself: what is due while it runs is left out. @returns `stop` waits for what runs */
export function repeat({ every_ms, work, onFailure }: Repeated): { stop: () => Promise<void> } {
  let running: Promise<unknown> | null = null
  const timer = setInterval(() => {
    running ??= Promise.resolve()
      .then(work)
      .catch(onFailure)
      .finally(() => {
        running = null
      })
  }, every_ms)
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
