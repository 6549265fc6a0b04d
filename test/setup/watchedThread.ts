// The thread of a watchdog for tests: says what it sees, and ends the process when its time is over.
import { writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { watchStalls } from '../../runtime/watchdog/stalls.ts'
import { readMark } from '../../runtime/watchdog/stateFile.ts'
import type { ThreadData } from '../../runtime/watchdog/watchdog.ts'

/** How many threads end at their start, one after the other. */
export interface WatchedThread {
  deaths: Int32Array<SharedArrayBuffer>
}

const { turns, stateFd, limits, more } = workerData as ThreadData<WatchedThread>
// The first thread of a process that is to lose it ends at once.
if (Atomics.sub(more.deaths, 0, 1) > 0) throw new Error('this thread was to end')
const say = (what: string) => writeSync(1, `${what} ${JSON.stringify(readMark(stateFd))}\n`)
watchStalls(turns, limits, {
  stalled: () => say('stalled'),
  overdue: () => {
    say('overdue')
    process.kill(process.pid, 'SIGKILL')
  },
})
parentPort?.postMessage('ready')
