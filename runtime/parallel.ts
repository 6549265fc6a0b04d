// Does the same for many things, some of them at once.

/** The results in the order of the things; what is done at once is not waited for. The first failure ends it: nothing further is begun. */
export async function inParallel<T, R>(
  things: readonly T[],
  most: number,
  work: (thing: T) => R | Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  let next = 0
  let hasFailed = false
  const carry = async () => {
    while (next < things.length && !hasFailed) {
      const at = next++
      try {
        const result = work(things[at] as T)
        results[at] = result instanceof Promise ? await result : result
      } catch (err) {
        hasFailed = true
        throw err
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(most, things.length) }, carry))
  return results
}
