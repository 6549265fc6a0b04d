// The main thread's side of the watchdog: it marks the synchronous work that may end the process.
import { Worker } from 'node:worker_threads'
import { limits } from '../../rules/limits.ts'
import { identifyProcess } from './identity.ts'
import type { Mark } from './mark.ts'
import { createTurns, type StallLimits, type Turns, turn } from './stalls.ts'
import { createStateFile, prepareFolder, type StatePlace } from './stateFile.ts'

/** A thread that ends again and again is started at this pace. */
const RESTART_MS = 1_000

/** What the thread gets; `more` is for its own code. */
export interface ThreadData<More> {
  turns: Turns
  /** The open state file. */
  stateFd: number
  run: string
  limits: StallLimits
  more: More
}

export interface WatchdogOptions<More> extends StatePlace {
  /** The module that the thread runs. It calls `watchStalls`. */
  thread: URL
  more: More
  limits?: StallLimits
  /** Messages of the thread. */
  onMessage?: (message: unknown) => void
  /** The thread has ended by an error. Marks are written nevertheless, and it is started again. */
  onError: (err: unknown) => void
}

/**
 * Makes the state file and starts the thread.
 * @throws Error if the folder cannot be used
 */
export function createWatchdog<More>(options: WatchdogOptions<More>) {
  prepareFolder(options.folder)
  const identity = identifyProcess()
  const file = createStateFile(options, identity)
  const turns = createTurns()
  const workerData: ThreadData<More> = {
    turns,
    stateFd: file.fd,
    run: identity.run,
    limits: options.limits ?? { stall_ms: limits.stallMsMax, end_ms: limits.stallMsEnd },
    more: options.more,
  }
  const thread = keepThread(options, workerData)
  return {
    identity,
    /**
     * Runs synchronous work under a mark. When the process dies meanwhile, the mark is what it is blamed on.
     * @param work gets a function that names the step it is at
     */
    during<T>(mark: Mark, work: (entering: (step: string) => void) => T): T {
      file.write(mark)
      // A disk that hangs is no stall of the work: it is counted from here to the end of the work.
      turn(turns)
      try {
        return work((step) => file.write({ ...mark, step }))
      } finally {
        turn(turns)
        file.write(null)
      }
    },
    async close(): Promise<void> {
      await thread.end()
      file.close()
    },
  }
}

/** Starts the thread, and again whenever it has ended by itself. */
function keepThread<More>(
  { thread: module, onMessage, onError }: WatchdogOptions<More>,
  workerData: ThreadData<More>,
) {
  let isOver = false
  let restart: NodeJS.Timeout | undefined
  const start = () => {
    const worker = startThread(module, workerData)
    worker.unref()
    worker.on('error', onError)
    if (onMessage) worker.on('message', onMessage)
    worker.on('exit', () => {
      if (isOver) return
      restart = setTimeout(() => {
        thread = start()
      }, RESTART_MS)
      restart.unref()
    })
    return worker
  }
  let thread = start()
  return {
    async end(): Promise<void> {
      isOver = true
      clearTimeout(restart)
      await thread.terminate()
    },
  }
}

/** Run from its sources, a thread has to learn TypeScript first: it does not inherit that from the process. */
function startThread(module: URL, workerData: object): Worker {
  if (!module.pathname.endsWith('.ts')) return new Worker(module, { workerData })
  const [tsx, source] = [import.meta.resolve('tsx/esm/api'), module.href].map((text) =>
    JSON.stringify(text),
  )
  const code = `import(${tsx}).then(({ register }) => { register(); return import(${source}) })`
  return new Worker(code, { eval: true, workerData })
}
