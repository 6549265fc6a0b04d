// The watchdog thread of a worker: notes in Postgres what keeps the main thread busy, and ends the process when it
// does so for too long. The main thread's connections are of no use meanwhile, so it has one of its own.
import { parentPort, workerData } from 'node:worker_threads'
import { noteSuspect } from '../../commands/suspects/note.ts'
import { connect } from '../../db/connect.ts'
import { createLog } from '../../runtime/log.ts'
import { watchStalls } from '../../runtime/watchdog/stalls.ts'
import { readMark, touchStateFile } from '../../runtime/watchdog/stateFile.ts'
import type { ThreadData } from '../../runtime/watchdog/watchdog.ts'

/** What the thread needs beside what every watchdog gives it. */
export interface BlameThread {
  databaseUrl: string
  logLevel: string
}

const TOUCH_MS = 5_000
/** A database that does not answer keeps a stalled process no longer than this: its state file has the mark, too. */
const NOTE_MS_MAX = 5_000

const { turns, stateFd, run, limits, more } = workerData as ThreadData<BlameThread>
const log = createLog('worker', more.logLevel)
const { db } = connect({
  url: more.databaseUrl,
  poolSize: 1,
  name: 'dripline-watchdog',
  onIdleError: (err) => log.warn({ err }, 'the connection of the watchdog broke while idle'),
})
const deps = { db, now: () => new Date(), wake: () => undefined }

async function note(isDeath: boolean): Promise<void> {
  const mark = readMark(stateFd)
  if (!mark) return
  const { kind, id, step, alone } = mark
  log.warn({ kind, id, step, alone }, 'the main thread is busy with one piece of work')
  try {
    const diedInRun = isDeath && alone ? run : null
    const deaths = await noteSuspect(deps, { kind, id, step, diedInRun })
    if (deaths === undefined) return
    log.warn({ kind, id, step, deaths }, 'a suspect was noted')
    parentPort?.postMessage({ noted: kind })
  } catch (err) {
    log.warn({ err, kind, id }, 'a suspect could not be noted in Postgres')
  }
}

async function end(): Promise<void> {
  const late = new Promise((resolve) => setTimeout(resolve, NOTE_MS_MAX))
  await Promise.race([note(true), late])
  log.fatal({ limit_ms: limits.end_ms }, 'ending the process: its main thread did not come back')
  process.kill(process.pid, 'SIGKILL')
}

let isFound = true
setInterval(() => {
  const wasFound = isFound
  isFound = touchStateFile(stateFd)
  if (wasFound && !isFound) {
    log.error(
      'the state file of this worker was removed: when the worker dies, nothing is blamed for it until it was started again',
    )
  }
}, TOUCH_MS)
watchStalls(turns, limits, { stalled: () => void note(false), overdue: () => void end() })
