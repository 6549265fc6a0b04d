// The threads of the child process: started ahead of their use, watched, ended past their time, and replaced.
import { setTimeout as delay } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { partNames } from '../template.ts'
import { startThread } from './launch.ts'
import type { Outcome, RenderResult, Task } from './messages.ts'
import { createState, createTimes } from './times.ts'

const THREAD_MEMORY_MB = 64
const YOUNG_MEMORY_MB = 16
/** A thread inside one long call of the engine ends only after it; with more of them the process ends itself. */
const STUCK_MAX = 4
/** A thread that does not end within this time is inside such a call. */
const STUCK_MS = 500

interface Thread {
  worker: Worker
  /** Index in `partNames` of the part that is rendered. */
  part: Int32Array
  look: ReturnType<typeof createTimes>
}

/** Ends this process at once, with its threads whatever they do: an orderly exit waits for each of them. */
export function killProcess(): void {
  process.kill(process.pid, 'SIGKILL')
}

/** Starts threads; one more than is in use waits as a spare. */
export function createThreads() {
  const spares: Thread[] = []
  let stuck = 0

  function start(): Thread {
    const state = createState()
    const worker = startThread({
      workerData: state,
      env: {},
      resourceLimits: {
        maxOldGenerationSizeMb: THREAD_MEMORY_MB,
        maxYoungGenerationSizeMb: YOUNG_MEMORY_MB,
      },
    })
    const thread = { worker, part: state.part, look: createTimes(state) }
    const forget = () => {
      const at = spares.indexOf(thread)
      if (at >= 0) spares.splice(at, 1)
    }
    worker.on('error', forget)
    worker.on('exit', forget)
    return thread
  }

  return {
    take(): Thread {
      const thread = spares.shift() ?? start()
      if (spares.length === 0) spares.push(start())
      return thread
    },
    /** Ends a thread whatever it does. @returns whether it goes on, inside a call that nothing can stop */
    async end({ worker }: Thread): Promise<boolean> {
      worker.removeAllListeners()
      worker.on('error', () => undefined)
      const ended = worker.terminate().then(() => false)
      const isStuck = await Promise.race([ended, delay(STUCK_MS, true)])
      if (isStuck) {
        stuck += 1
        if (stuck > STUCK_MAX) killProcess()
        void ended.then(() => {
          stuck -= 1
        })
      }
      return isStuck
    },
  }
}

/** How a render ends that was not past its time. */
type Finished = { kind: 'done'; result: RenderResult } | { kind: 'out_of_memory' | 'failed' }

/**
 * A place for one render at a time.
 * @param isFreshEach each render gets a thread that has rendered nothing before, whose memory no other one has filled
 */
export function createSlot(
  threads: ReturnType<typeof createThreads>,
  report: (outcome: Outcome) => void,
  isFreshEach: boolean,
) {
  let task: Task | null = null
  let thread: Thread | null = null

  function finish(outcome: Finished): void {
    if (task) report({ ...outcome, id: task.id })
    task = null
  }

  function occupy(): Thread {
    const taken = threads.take()
    thread = taken
    taken.worker.on('message', (result: RenderResult) => {
      if (isFreshEach) {
        thread = null
        void threads.end(taken)
      }
      finish({ kind: 'done', result })
    })
    taken.worker.on('error', (err: NodeJS.ErrnoException) => {
      thread = null
      finish({ kind: err.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out_of_memory' : 'failed' })
    })
    taken.worker.on('exit', () => {
      if (thread === taken) thread = null
      finish({ kind: 'failed' })
    })
    return taken
  }

  return {
    run(given: Task): void {
      task = given
      const { worker } = thread ?? occupy()
      worker.postMessage(given.job)
    },
    /** Starts the thread ahead of the first render. */
    warm(): void {
      if (!thread) occupy()
    },
    /** Ends the render under way when it is past its time. */
    check(): void {
      const kind = task && thread?.look(task)
      if (!task || !thread || !kind) return
      const part = partNames[Atomics.load(thread.part, 0)] ?? 'html'
      const { id } = task
      const ended = threads.end(thread)
      task = null
      thread = null
      void ended.then((isStuck) => {
        report({ kind, part, isStuck, id })
        if (!isFreshEach) this.warm()
      })
    },
  }
}
