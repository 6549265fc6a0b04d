// Spreads many short pieces of work over turns of the event loop, so that what others wait for is done between them.

/**
 * Makes a function to call before each piece of work. Of those that ask in one turn of the event loop the first `most` go at once, for
 * which it returns undefined; the others wait for one of the next turns, in the order of their coming.
 */
export function createFewInATurn(most: number): () => Promise<void> | undefined {
  const waiting: (() => void)[] = []
  let left = most
  let isCounting = false

  const count = () => {
    if (isCounting) return
    isCounting = true
    setImmediate(() => {
      isCounting = false
      const next = waiting.splice(0, most)
      left = most - next.length
      if (next.length > 0) count()
      for (const go of next) go()
    })
  }

  return () => {
    count()
    if (left > 0) {
      left -= 1
      return undefined
    }
    return new Promise((resolve) => waiting.push(resolve))
  }
}
