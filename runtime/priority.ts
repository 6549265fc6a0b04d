// Lowers the priority of this process, with the threads that it has.
import { readdirSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

const TASKS = '/proc/self/task'

/**
 * Gives way to other processes. On Linux each thread has a priority of its own: those that stand get it here, those
 * that are started later have that of the thread which starts them. A lower priority that the process has already
 * (a larger number) stays.
 * @param nice 0 (that of most processes) to 19 (the lowest)
 */
export function lowerPriority(nice: number): void {
  for (const id of threads()) if (getPriority(id) < nice) setPriority(id, nice)
}

/** The ids of this process's threads; only that of the process where there is no such list. */
function threads(): number[] {
  try {
    return readdirSync(TASKS).map(Number)
  } catch {
    return [0]
  }
}
