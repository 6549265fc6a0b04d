// Does the same for many things, some of them at once.

/** The results in the order of the things. The first failure ends it: nothing further is begun. */
export async function inParallel<T, R>(
  things: readonly T[],
  most: number,
  work: (thing: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  let next = 0
  let hasFailed = false
  const carry = async () => {
    while (next < things.length && !hasFailed) {
      const at = next++
      try {
        results[at] = await work(things[at] as T)
      } catch (err) {
        hasFailed = true
        throw err
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(most, things.length) }, carry))
  return results
}
