// The thread of a watchdog for tests: says what it sees, and ends the process when its time is over.
import { writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { watchStalls } from '../../runtime/watchdog/stalls.ts'
import { readStateFile } from '../../runtime/watchdog/stateFile.ts'
import type { ThreadData } from '../../runtime/watchdog/watchdog.ts'

const { turns, statePath, limits } = workerData as ThreadData<null>
const say = (what: string) =>
  writeSync(1, `${what} ${JSON.stringify(readStateFile(statePath)?.mark)}\n`)
watchStalls(turns, limits, {
  stalled: () => say('stalled'),
  overdue: () => {
    say('overdue')
    process.kill(process.pid, 'SIGKILL')
  },
})
parentPort?.postMessage('ready')
