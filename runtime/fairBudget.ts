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
  const forget = (name: string, owner: Owner) => {
    const isIdle = owner.used === 0 && owner.waiting.length === 0
    // It may have been forgotten already, and another one may stand by its name.
    if (isIdle && owners.get(name) === owner) owners.delete(name)
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
    const started = waitIn(owner.waiting, bytes, signal)
    startWaiting()
    let hasBegun = false
    try {
      await started
      hasBegun = true
      return await work()
    } finally {
      if (hasBegun) {
        used -= bytes
        owner.used -= bytes
      }
      forget(name, owner)
      startWaiting()
    }
  }
}

/** Waits at the end of a line until it may start. @throws the reason of the signal; it is out of the line then */
function waitIn(line: Waiting[], bytes: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      line.splice(line.indexOf(waiting), 1)
      reject(signal?.reason)
    }
    const start = () => {
      signal?.removeEventListener('abort', leave)
      resolve()
    }
    const waiting: Waiting = { bytes, start }
    signal?.addEventListener('abort', leave, { once: true })
    line.push(waiting)
  })
}

const fits = (used: number, bytes: number, most: number) => used === 0 || used + bytes <= most
