// Lets many callers share one look at something that is expensive to look at.

/**
 * Wraps a look, so that callers that come while one runs get its answer, and so do those that come within `ms`
 * after it ended. A look that fails is not kept.
 */
export function shareLook<T>(look: () => Promise<T>, ms: number): () => Promise<T> {
  let running: Promise<T> | undefined
  let endedAt = Number.NEGATIVE_INFINITY
  let last: { answer: T } | undefined
  return () => {
    if (running) return running
    if (last && performance.now() - endedAt < ms) return Promise.resolve(last.answer)
    running = look()
      .then((answer) => {
        last = { answer }
        endedAt = performance.now()
        return answer
      })
      .finally(() => {
        running = undefined
      })
    return running
  }
}
