// Tells a living process from a dead one whose pid another process may have taken.
import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

export interface ProcessIdentity {
  /** A random name of this run of the process. */
  run: string
  pid: number
  /** The machine since its last start, and the namespace of the pid: each container has a process 1. */
  machine: string
  /** When the process began, in the units of its system; '' where that cannot be read. */
  began: string
}

/** Longer without a sign of life, a process of another machine or container counts as dead. */
const SILENT_MS_MAX = 30_000

/** A new identity of a process of this machine; without a pid of this one. */
export function identifyProcess(pid = process.pid): ProcessIdentity {
  return { run: randomUUID(), pid, machine: machineName(), began: began(pid) }
}

/**
 * Whether a process is dead. One that is frozen lives.
 * @param silent_ms since its last sign of life
 */
export function isDead(other: ProcessIdentity, own: ProcessIdentity, silent_ms: number): boolean {
  if (other.run === own.run) return false
  // Its pid says nothing here.
  if (other.machine !== own.machine) return silent_ms > SILENT_MS_MAX
  if (other.pid === own.pid || !isAlive(other.pid)) return true
  return other.began !== began(other.pid)
}

function machineName(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Field 22 of /proc/<pid>/stat, by which a pid that was used again is told apart. A dead child has none. */
function began(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before it may hold spaces, and ends with the last parenthesis.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' ? '' : (fields[18] ?? '')
  } catch {
    return ''
  }
}
