// Batches work: items that arrive while a round trip runs share the next one, as one query or commit.
import { setTimeout as delay } from 'node:timers/promises'

/**
 * After a group of at least this size more items are likely: only then does the next group wait for `gather_ms`.
 */
const STREAM_MIN = 4

interface BatcherOptions<T> {
  /** Under load, how long a group waits for more. */
  gather_ms?: number
  /** Groups that may be under way together: a further one begins only when as many items wait as it may have, or after `slow_ms`. One unless given. */
  atOnce?: number
  /** A group that is under way for so long holds the next one back no longer. Without it, only a full one is not held back. */
  slow_ms?: number
  /** Items that are under way together have no key in common: those that have come in different groups, in their order. */
  keysOf?: (item: T) => readonly string[]
  /** Of one key, how many may be under way or wait, and with what another one fails. */
  full?: { most: number; error: () => Error }
  /** Whether a failure of a group is that of all that wait, too. */
  failsAll?: (err: unknown) => boolean
}

/**
 * Makes a function that runs `work` over groups of items, one group at a time unless very many wait. A single item goes at once, and
 * items that arrive meanwhile share the next round trip.
 * @param work takes a group and returns one result for each item, in order; if it throws, every item of the group
 * fails
 */
export function createBatcher<T, R>(
  work: (items: T[]) => Promise<R[]>,
  maxItems: number,
  { gather_ms = 0, atOnce = 1, slow_ms, keysOf, failsAll = () => false }: BatcherOptions<T> = {},
): (item: T) => Promise<R> {
  interface Waiting {
    item: T
    resolve: (result: R) => void
    reject: (err: unknown) => void
  }
  const waiting: Waiting[] = []
  /** Keys of what is under way. */
  const busy = new Set<string>()
  let running = 0
  let underWay = 0
  /** When the last group was begun or asked for, by the clock of `performance`. */
  let begun = 0
  /** Whether a timer looks again when that group has become slow. */
  let isTimed = false

  /** @returns whether those that wait are left to another group, since this one failed by what others may not */
  const runGroup = async (group: Waiting[]): Promise<boolean> => {
    const keys = keysOf ? group.flatMap(({ item }) => keysOf(item)) : []
    for (const key of keys) busy.add(key)
    underWay += 1
    try {
      const results = await work(group.map((w) => w.item))
      for (const [i, w] of group.entries()) w.resolve(results[i] as R)
      return false
    } catch (err) {
      const isOfAll = failsAll(err)
      const isLast = underWay === 1
      for (const w of isOfAll && isLast ? [...group, ...waiting.splice(0)] : group) w.reject(err)
      return isOfAll && !isLast
    } finally {
      underWay -= 1
      for (const key of keys) busy.delete(key)
    }
  }

  const run = async () => {
    let last = 0
    while (waiting.length > 0) {
      if (gather_ms > 0 && last >= STREAM_MIN && waiting.length < maxItems) await delay(gather_ms)
      const group = keysOf
        ? takeApart(waiting, maxItems, { keysOf: ({ item }) => keysOf(item), busy })
        : waiting.splice(0, maxItems)
      // What is left waits for keys that are under way: who has them goes on with it.
      if (group.length === 0) break
      last = group.length
      begun = performance.now()
      startFurther()
      if (await runGroup(group)) break
    }
    running -= 1
  }

  const start = () => {
    running += 1
    begun = performance.now()
    // Waiting for one turn of the event loop lets items of the same turn share the first group.
    setImmediate(() => void run())
  }
  const startFurther = () => {
    if (running >= atOnce || waiting.length === 0) return
    if (waiting.length >= maxItems) start()
    else if (slow_ms !== undefined) startWhenSlow(slow_ms)
  }
  const startWhenSlow = (slow_ms: number) => {
    const left_ms = begun + slow_ms - performance.now()
    if (left_ms <= 0) {
      start()
    } else if (!isTimed) {
      isTimed = true
      setTimeout(() => {
        isTimed = false
        startFurther()
      }, left_ms)
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (running === 0) start()
      else startFurther()
    })
}

/** Items that are looked at for each one that a group may have: the others behind them wait. */
const LOOKED_AT = 10

/** Removes the first items that have no key in common with an earlier one, whether that is taken or stays, or with what is busy. */
function takeApart<T>(
  waiting: T[],
  maxItems: number,
  { keysOf, busy }: { keysOf: (item: T) => readonly string[]; busy: ReadonlySet<string> },
): T[] {
  const looked = waiting.splice(0, maxItems * LOOKED_AT)
  const { taken, left } = splitApart(looked, maxItems, keysOf, busy)
  waiting.unshift(...left)
  return taken
}

/**
 * Splits items, in their order, into up to `maxItems` that have no key in common with an earlier one, whether that is taken or stays, or
 * with what is busy, and the others.
 */
export function splitApart<T>(
  items: readonly T[],
  maxItems: number,
  keysOf: (item: T) => readonly string[],
  busy: ReadonlySet<string> = new Set(),
): { taken: T[]; left: T[] } {
  const [taken, left]: [T[], T[]] = [[], []]
  const seen = new Set(busy)
  for (const item of items) {
    const keys = keysOf(item)
    const isApart = taken.length < maxItems && !keys.some((key) => seen.has(key))
    for (const key of keys) seen.add(key)
    if (isApart) taken.push(item)
    else left.push(item)
  }
  return { taken, left }
}

/**
 * Makes a function like that of `createBatcher`, with groups of their own for each key: those of one key do not wait for
 * those of another. A key takes memory only while something of it is under way.
 */
export function createBatchers<K, T, R>(
  work: (key: K, items: T[]) => Promise<R[]>,
  maxItems: number,
  options: BatcherOptions<T> = {},
): (key: K, item: T) => Promise<R> {
  const batchers = new Map<K, { submit: (item: T) => Promise<R>; pending: number }>()
  return async (key, item) => {
    const found = batchers.get(key)
    const own = found ?? {
      submit: createBatcher((items: T[]) => work(key, items), maxItems, options),
      pending: 0,
    }
    const { full } = options
    if (full && own.pending >= full.most) throw full.error()
    if (!found) batchers.set(key, own)
    own.pending += 1
    try {
      return await own.submit(item)
    } finally {
      own.pending -= 1
      if (own.pending === 0) batchers.delete(key)
    }
  }
}
