// Reserves ports among the starts of one user, because a chosen port looks free to others until something listens
// on it.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTimeOf } from './processes.ts'

interface Owner {
  pid: number
  start: string | undefined
}

/** The folder that all starts of one user share. A user may have no name. */
export const reservationsFolder = () =>
  join(tmpdir(), `dripline-ports-${process.getuid?.() ?? 'all'}`)

/** Makes the reservations of this process in a shared folder. Those of a process that has ended do not count. */
export function createReservations(folder: string) {
  const held: string[] = []
  const own: Owner = { pid: process.pid, start: startTimeOf(process.pid) }
  mkdirSync(folder, { recursive: true, mode: 0o700 })

  /** Writes the file atomically, and only if it does not exist. */
  const write = (file: string): boolean => {
    const draft = `${file}.${process.pid}.new`
    writeFileSync(draft, JSON.stringify(own))
    try {
      linkSync(draft, file)
      return true
    } catch {
      return false
    } finally {
      rmSync(draft, { force: true })
    }
  }

  return {
    /** @returns false if another live process has the port */
    take(port: number): boolean {
      const file = join(folder, String(port))
      if (!write(file)) {
        if (isAlive(file)) return false
        // Only one process can move an old file away. The moved file may be newer than the one that was read.
        const moved = `${file}.${process.pid}.old`
        try {
          renameSync(file, moved)
        } catch {
          return false
        }
        const wasAlive = isAlive(moved)
        if (wasAlive) restore(moved, file)
        rmSync(moved, { force: true })
        if (wasAlive || !write(file)) return false
      }
      held.push(file)
      return true
    },
    release(): void {
      for (const file of held.splice(0)) rmSync(file, { force: true })
    },
  }
}

function isAlive(file: string): boolean {
  try {
    const { pid, start } = JSON.parse(readFileSync(file, 'utf8')) as Owner
    return start !== undefined && startTimeOf(pid) === start
  } catch {
    return false
  }
}

function restore(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    // Another process has taken the port meanwhile.
  }
}
