// A doubly linked list whose items carry their own links, so that any of them leaves in one step.

/** What an item of a queue carries for it: the queue in which it stands, one at most, and its neighbours there. */
export interface Queued<T extends Queued<T>> {
  queue: LinkedQueue<T> | null
  previous: T | null
  next: T | null
}

/** The links of an item that stands in no queue. */
export const unqueued = { queue: null, previous: null, next: null } as const

/**
 * It is used in place of a Map where what is taken goes to the end: a Map keeps a hole for each entry that has left until it is made
 * anew, and each walk from its beginning passes some hundreds of them.
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

  /** Takes an item out, which must stand here. */
  delete(item: T): void {
    const { previous, next } = item
    if (previous) previous.next = next
    else this.first = next
    if (next) next.previous = previous
    else this.#last = previous
    item.queue = item.previous = item.next = null
  }
}
