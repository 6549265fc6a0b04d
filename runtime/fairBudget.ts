// Limits how many bytes are in use at a time, and how many of them are one owner's: owners take turns.

interface Waiting {
  bytes: number
  start: () => void
}

interface Owner {
  /** Bytes of its work under way. */
  used: number
  waiting: Waiting[]
}

/**
 * Makes a function that runs work of an owner (a workspace) when its bytes fit: into what is left of the whole, and into what is
 * left of the owner's share. Work that is larger than either runs when nothing else of the whole, or of the owner, is under
 * way. An owner's work begins in the order of its calls. Owners whose work waits take turns; one whose share is used
 * is passed over, and the one whose turn it is keeps it until there is room, so that large work waits no longer than what is under way.
 * @param limits `bytesMax` of all, `ownerBytesMax` of one owner
 * @returns throws what the work throws, and the reason of `signal` when that is aborted before the work began
 */
export function createFairBudget(limits: { bytesMax: number; ownerBytesMax: number }) {
  const { bytesMax, ownerBytesMax } = limits
  let used = 0
  /** Those with work, in the order of their turns. */
  const owners = new Map<string, Owner>()

  const startWaiting = () => {
    for (;;) {
      const turn = nextTurn()
      if (!turn || !fits(used, turn.first.bytes, bytesMax)) return
      const { name, owner, first } = turn
      owner.waiting.shift()
      owner.used += first.bytes
      used += first.bytes
      owners.delete(name)
      owners.set(name, owner)
      first.start()
    }
  }
  const nextTurn = () => {
    for (const [name, owner] of owners) {
      const [first] = owner.waiting
      if (first && fits(owner.used, first.bytes, ownerBytesMax)) return { name, owner, first }
    }
    return undefined
  }
  const end = (name: string, bytes: number) => {
    used -= bytes
    const owner = owners.get(name)
    if (owner) owner.used -= bytes
    if (owner?.used === 0 && owner.waiting.length === 0) owners.delete(name)
    startWaiting()
  }

  return async <T>(
    name: string,
    bytes: number,
    work: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> => {
    signal?.throwIfAborted()
    const owner = owners.get(name) ?? { used: 0, waiting: [] }
    owners.set(name, owner)
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        owner.waiting.splice(owner.waiting.indexOf(waiting), 1)
        if (owner.used === 0 && owner.waiting.length === 0) owners.delete(name)
        reject(signal?.reason)
        startWaiting()
      }
      const waiting: Waiting = {
        bytes,
        start: () => {
          signal?.removeEventListener('abort', leave)
          resolve()
        },
      }
      signal?.addEventListener('abort', leave, { once: true })
      owner.waiting.push(waiting)
      startWaiting()
    })
    try {
      return await work()
    } finally {
      end(name, bytes)
    }
  }
}

const fits = (used: number, bytes: number, most: number) => used === 0 || used + bytes <= most
