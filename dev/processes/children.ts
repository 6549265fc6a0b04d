// Records the started processes, so that the next run can end those that a killed run left.
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

/** Writes `<folder>/<pid>.json` while the child runs. `signals` are sent to it if a later run finds it there. */
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
 * Ends all recorded processes that still run (same pid, same start time), in parallel, and removes the records.
 * @returns the names of the ended processes
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
      // A process was killed while it wrote the file.
      return []
    }
  })
}
