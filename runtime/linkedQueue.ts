// A queue from which an item leaves in one step, wherever it stands.

/** What an item of a queue carries for it: the queue in which it stands, one at most, and its neighbours there. */
export interface Queued<T extends Queued<T>> {
  queue: LinkedQueue<T> | null
  previous: T | null
  next: T | null
}

/** Where nothing stands. */
export const unqueued = { queue: null, previous: null, next: null } as const

/**
 * A Map keeps a hole for each entry that has left until it is made anew, and each walk from its beginning passes them: that is some
 * hundreds of steps for every item where what is taken goes to the end.
 */
export class LinkedQueue<T extends Queued<T>> {
  first: T | null = null
  #last: T | null = null

  /** Puts an item at the end; it leaves the queue in which it stood. */
  add(item: T): void {
    item.queue?.delete(item)
    item.queue = this
    item.previous = this.#last
    if (this.#last) this.#last.next = item
    else this.first = item
    this.#last = item
  }

  /** Takes an item out, which stands here. */
  delete(item: T): void {
    const { previous, next } = item
    if (previous) previous.next = next
    else this.first = next
    if (next) next.previous = previous
    else this.#last = previous
    item.queue = item.previous = item.next = null
  }
}
