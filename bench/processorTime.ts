// How much processor time processes have used, from /proc.
import { readdirSync, readFileSync } from 'node:fs'

/** Ticks of a second in /proc (sysconf(_SC_CLK_TCK)), 100 on all Linux systems that Node runs on. */
const TICKS_PER_SECOND = 100

/** Of a line of /proc/PID/stat, what follows the name in brackets: state, parent, …; proc(5). */
function statOf(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')
  } catch {
    // It has ended.
    return undefined
  }
}

/** Seconds that a process, all its threads, and those of its children that have ended have used. 0: there is none. */
export function processorTimeOf(pid: number): number {
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] =
    statOf(pid)?.slice(11, 15).map(Number) ?? []
  return (user + system + endedUser + endedSystem) / TICKS_PER_SECOND
}

/** The processes whose parent this one is. */
export function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => Number(statOf(pid)?.[1]) === parent)
}
