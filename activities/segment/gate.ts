// Lets ordinary segments run side by side in this process, and a suspect alone.

interface Times {
  /** How long a suspect waits for those under way, while others wait for it. */
  drain_ms: number
  /** How long it may then keep others waiting. */
  alone_ms: number
}

const TIMES: Times = { drain_ms: 2_000, alone_ms: 10_000 }

/** What a segment is told. `isAlone` is false for an ordinary one, and once a suspect's time alone is over. */
export interface Turn {
  isAlone: () => boolean
}

/**
 * Suspects and ordinary segments take turns: while a suspect waits no further ordinary one begins, and after it those
 * that wait go before the next suspect.
 */
export function createGate({ drain_ms, alone_ms }: Times = TIMES) {
  const places = createPlaces(drain_ms)

  async function runShared<T>(work: (turn: Turn) => Promise<T>): Promise<T> {
    await places.enter()
    try {
      return await work({ isAlone: () => false })
    } finally {
      places.leave()
    }
  }

  async function runAlone<T>(work: (turn: Turn) => Promise<T>): Promise<T> {
    if (!(await places.take())) throw new Error('a suspect found no moment to run alone')
    let isAlone = true
    const giveBack = () => {
      if (isAlone) places.giveBack()
      isAlone = false
    }
    const timer = setTimeout(giveBack, alone_ms)
    try {
      return await work({ isAlone: () => isAlone })
    } finally {
      clearTimeout(timer)
      giveBack()
    }
  }

  return {
    /** @throws Error, to be tried again, when a suspect waits too long for those under way */
    run<T>(isSuspect: boolean, work: (turn: Turn) => Promise<T>): Promise<T> {
      return isSuspect ? runAlone(work) : runShared(work)
    },
  }
}

/** Who is inside: any number of ordinary ones, or one suspect that has taken all places. */
function createPlaces(drain_ms: number) {
  let inside = 0
  /** Ordinary ones that wait for a suspect. */
  let waiting: (() => void)[] = []
  const suspects: ((mayRun: boolean) => void)[] = []
  /** Whether a suspect waits for those inside, or has all places. */
  let taken = false
  let drained: (() => void) | undefined

  function giveBack(): void {
    taken = false
    const begin = waiting
    waiting = []
    inside += begin.length
    for (const go of begin) go()
    void callNext()
  }

  async function callNext(): Promise<void> {
    if (taken || suspects.length === 0) return
    taken = true
    const isFree = inside === 0 || (await drain())
    suspects.shift()?.(isFree)
    if (!isFree) giveBack()
  }

  function drain(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), drain_ms)
      drained = () => {
        clearTimeout(timer)
        resolve(true)
      }
    })
  }

  return {
    async enter(): Promise<void> {
      if (taken) await new Promise<void>((resolve) => waiting.push(resolve))
      else inside += 1
    },
    leave(): void {
      inside -= 1
      if (inside === 0) drained?.()
    },
    /** Waits for its turn and for those inside. @returns false when they took too long */
    take: () =>
      new Promise<boolean>((resolve) => {
        suspects.push(resolve)
        void callNext()
      }),
    giveBack,
  }
}
