// Lets the SDK run workflow functions without the watchdog of node:vm, which starts and ends a thread of the system at each call.
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import type { Worker, WorkerOptions } from 'node:worker_threads'

/** The file of the SDK that runs workflow functions in a thread of its own. */
const WORKFLOW_THREAD = 'workflow-worker-thread.js'

/** The address of code that a thread loads first. It drops the time-out of calls into a context of node:vm, which is what starts the watchdog. */
const WITHOUT_TIMEOUTS = `data:text/javascript,${encodeURIComponent(`
import { Script } from 'node:vm'
const { runInContext } = Script.prototype
Script.prototype.runInContext = function (context, { timeout, ...options } = {}) {
  return runInContext.call(this, context, options)
}
`)}`

/**
 * Makes each thread of workflow functions that the SDK starts from now on run without the watchdog. The SDK gives each call a time-out of
 * five seconds, and calls some twenty times for an execution; with a time-out a call takes 110 µs of the processor and 220 µs of time,
 * without one 1 to 2 µs (two cores, AMD EPYC, Node 24). The time-out ends
 * functions that loop for ever, and those of `workflows/` hold no loop over what a customer gives: designs run in activities.
 *
 * The SDK has no option for it, and asks `require` for the class of threads when it starts one.
 */
export function runWithoutWatchdog(): void {
  const threads: { Worker: typeof Worker } = createRequire(import.meta.url)('node:worker_threads')
  threads.Worker = class extends threads.Worker {
    constructor(file: string | URL, options: WorkerOptions = {}) {
      const isOfWorkflows = basename(String(file)) === WORKFLOW_THREAD
      super(
        file,
        isOfWorkflows ? { ...options, execArgv: ['--import', WITHOUT_TIMEOUTS] } : options,
      )
    }
  }
}
