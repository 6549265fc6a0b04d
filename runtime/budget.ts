// Limits how many bytes are in use at a time: work that does not fit waits until earlier work is done.

/**
 * Makes a function that runs work when its bytes fit, in the order of the calls. Work that is larger than the
 * whole budget runs alone; work of 0 bytes runs at once.
 */
export function createBudget(bytesMax: number) {
  let used = 0
  const waiting: { bytes: number; start: () => void }[] = []

  const fits = (bytes: number) => used === 0 || used + bytes <= bytesMax
  const startWaiting = () => {
    for (let first = waiting[0]; first && fits(first.bytes); first = waiting[0]) {
      waiting.shift()
      used += first.bytes
      first.start()
    }
  }

  return async <T>(bytes: number, work: () => Promise<T>): Promise<T> => {
    if (bytes === 0) return work()
    await new Promise<void>((start) => {
      waiting.push({ bytes, start })
      startWaiting()
    })
    try {
      return await work()
    } finally {
      used -= bytes
      startWaiting()
    }
  }
}
