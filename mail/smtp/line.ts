// The line of messages that wait for a connection: by class with weights, in each class in the order of their coming.
import { classWeights, type MailClass, mailClasses } from '../../rules/mail/classes.ts'

export interface Line<T> {
  /** Adds a message at the end of its class. */
  push(item: T): void
  /** Puts a message back that had been taken. */
  putBack(item: T): void
  /**
   * Takes the next message.
   * @param fits if given, one that fits goes before those of its class that do not; null if none of the class does
   */
  next(fits?: (item: T) => boolean): T | null
  /** Takes this message out. */
  remove(item: T): boolean
  /** Takes out and returns the last message of a lower class than `item`, where that class has more than its share. */
  giveWay(item: T): T | null
  /** Takes all messages out. */
  clear(): T[]
  size(): number
}

/** A message that does not fit is passed over so often. */
const PASSES_MAX = 20

interface Queue<T> {
  weight: number
  items: T[]
  /** The share that it has had: the messages taken, divided by its weight. Who would have the least after one more is next. */
  had: number
  /** How often its first message was passed over. */
  passes: number
}

/** Makes an empty line (stride scheduling: Waldspurger and Weihl, 1995). */
export function createLine<T>(classOf: (item: T) => MailClass): Line<T> {
  const queueOf = (name: MailClass): Queue<T> => {
    return { weight: classWeights[mailClasses.indexOf(name)] ?? 1, items: [], had: 0, passes: 0 }
  }
  const queues: Record<MailClass, Queue<T>> = {
    transactional: queueOf('transactional'),
    automation: queueOf('automation'),
    broadcast: queueOf('broadcast'),
  }
  const all = Object.values(queues)
  let size = 0
  /** The share of the queue that was served last: one that was empty saves up nothing. */
  let reached = 0

  const into = (item: T): Queue<T> => {
    const queue = queues[classOf(item)]
    if (size === 0) {
      reached = 0
      for (const one of all) one.had = 0
    }
    if (queue.items.length === 0) queue.had = Math.max(queue.had, reached)
    size += 1
    return queue
  }

  const taken = (queue: Queue<T>, index: number): T | null => {
    const [item] = index === 0 ? [queue.items.shift()] : queue.items.splice(index, 1)
    queue.passes = index === 0 ? 0 : queue.passes + 1
    size -= 1
    return item ?? null
  }

  /** The share of a queue once its first message has gone. */
  const after = ({ had, weight }: Queue<T>) => had + 1 / weight

  const first = (): Queue<T> | null => {
    let least: Queue<T> | null = null
    for (const queue of all) {
      if (queue.items.length > 0 && (least === null || after(queue) < after(least))) least = queue
    }
    return least
  }

  return {
    push: (item) => void into(item).items.push(item),
    putBack: (item) => void into(item).items.unshift(item),
    next(fits) {
      const queue = first()
      if (!queue) return null
      const index = fits ? queue.items.findIndex(fits) : 0
      if (index < 0 || (index > 0 && queue.passes >= PASSES_MAX)) return null
      reached = queue.had
      queue.had = after(queue)
      return taken(queue, index)
    },
    remove(item) {
      const queue = queues[classOf(item)]
      const index = queue.items.indexOf(item)
      if (index < 0) return false
      queue.items.splice(index, 1)
      size -= 1
      return true
    },
    giveWay(item) {
      const mine = queues[classOf(item)]
      const share = ({ items, weight }: Queue<T>) => items.length / weight
      for (const queue of all.toReversed()) {
        if (queue === mine) return null
        if (share(queue) <= share(mine)) continue
        size -= 1
        return queue.items.pop() ?? null
      }
      return null
    },
    clear() {
      size = 0
      return all.flatMap(({ items }) => items.splice(0))
    },
    size: () => size,
  }
}
