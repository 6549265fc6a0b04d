// Which ports other starts of this machine's user have chosen: between the choice and the first connection a port
// looks free to everybody.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTimeOf } from './processes.ts'

interface Owner {
  pid: number
  start: string | undefined
}

/** Where the starts of one user tell each other of their ports; not every user has a name. */
export const reservationsFolder = () =>
  join(tmpdir(), `dripline-ports-${process.getuid?.() ?? 'all'}`)

/** Ports of this process in a folder that all starts share; a process that is gone holds none. */
export function createReservations(folder: string) {
  const held: string[] = []
  const own: Owner = { pid: process.pid, start: startTimeOf(process.pid) }
  mkdirSync(folder, { recursive: true, mode: 0o700 })

  /** Whole or not at all, and only where nothing is. */
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
    /** @returns false when another living process has it */
    take(port: number): boolean {
      const file = join(folder, String(port))
      if (!write(file)) {
        if (isAlive(file)) return false
        // Only one process can move what is left; what it moved may be newer than what was looked at.
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
    // Somebody has taken the port meanwhile.
  }
}
