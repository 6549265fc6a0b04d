// Random choices that can be repeated with a seed.

/** Makes a random generator (mulberry32). */
export function createRandom(seed: number) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (from: number, to: number) => from + Math.floor(next() * (to - from + 1))
  return {
    /** 0 ≤ x < 1 */
    next,
    /** A whole number between both ends, inclusive. */
    between,
    pick: <T>(items: readonly [T, ...T[]]): T => items[between(0, items.length - 1)] ?? items[0],
  }
}
