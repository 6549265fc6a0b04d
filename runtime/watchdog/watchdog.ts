// The main thread's side of the watchdog: it marks the synchronous work that may end the process.
import { Worker } from 'node:worker_threads'
import { limits } from '../../rules/limits.ts'
import { identifyProcess } from './identity.ts'
import type { Mark } from './mark.ts'
import { createTurns, type StallLimits, type Turns, turn } from './stalls.ts'
import { createStateFile, prepareFolder, type StatePlace } from './stateFile.ts'

/** What the thread gets; `more` is for its own code. */
export interface ThreadData<More> {
  turns: Turns
  statePath: string
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
  /** The thread has ended by an error. Marks are written nevertheless. */
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
    statePath: file.path,
    run: identity.run,
    limits: options.limits ?? { stall_ms: limits.stallMsMax, end_ms: limits.stallMsEnd },
    more: options.more,
  }
  const thread = startThread(options.thread, workerData)
  thread.unref()
  thread.on('error', options.onError)
  if (options.onMessage) thread.on('message', options.onMessage)
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
      await thread.terminate()
      file.close()
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
