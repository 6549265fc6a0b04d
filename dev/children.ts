// Remembers which processes are ours, so that the next run can end those that a killed one left.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Child, signalGroup, startTimeOf, waitGone } from './processes.ts'

interface RecordedChild {
  name: string
  pid: number
  start: string
  signals: NodeJS.Signals[]
}

const WAIT_MS = 5_000

/**
 * Writes `<folder>/<pid>.json` for as long as the child runs. `signals` is how it is asked to end when
 * it is found there later.
 */
export function recordChild(folder: string, child: Child, signals: NodeJS.Signals[]): Child {
  const start = startTimeOf(child.pid)
  if (start === undefined) return child
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${child.pid}.json`)
  const record: RecordedChild = { name: child.name, pid: child.pid, start, signals }
  writeFileSync(file, JSON.stringify(record))
  void child.exited.then(() => rmSync(file, { force: true }))
  return child
}

/**
 * Ends every recorded process that still is the one that was recorded (same pid, same start time),
 * in parallel, and forgets them. @returns the names of those that were ended
 */
export async function endRecorded(folder: string): Promise<string[]> {
  const ended = await Promise.all(recordedIn(folder).map((record) => endOne(folder, record)))
  return ended.filter((name) => name !== '')
}

async function endOne(folder: string, { name, pid, start, signals }: RecordedChild) {
  const alive = startTimeOf(pid) === start
  if (alive) {
    signalGroup(pid, 'SIGCONT')
    for (const signal of [...signals, 'SIGKILL' as const]) {
      signalGroup(pid, signal)
      if (await waitGone(pid, WAIT_MS)) break
    }
  }
  rmSync(join(folder, `${pid}.json`), { force: true })
  return alive ? name : ''
}

function recordedIn(folder: string): RecordedChild[] {
  let files: string[]
  try {
    files = readdirSync(folder)
  } catch {
    return []
  }
  return files.flatMap((file) => {
    try {
      return [JSON.parse(readFileSync(join(folder, file), 'utf8')) as RecordedChild]
    } catch {
      // Half-written by a process that was killed just then.
      return []
    }
  })
}
