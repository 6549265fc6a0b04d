// Whether a render is past its time: of its thread's processor time, or by the clock where the processor has others to serve.
import { readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import type { Task } from './messages.ts'

/** The unit of the times in /proc (USER_HZ): 100 a second on every usual Linux, whatever the kernel counts in itself. */
const TICK_MS = 10

/** Memory that a thread and the process share. */
export interface ThreadState {
  /** When the render under way began, in ns of `process.hrtime`; 0: none is. */
  begun: BigInt64Array
  /** Index in `partNames`. */
  part: Int32Array
  /** The kernel's number of the thread; 0 where there is none, outside of Linux. */
  task: Int32Array
}

/** Memory for a new thread. */
export const createState = (): ThreadState => ({
  begun: new BigInt64Array(new SharedArrayBuffer(8)),
  part: new Int32Array(new SharedArrayBuffer(4)),
  task: new Int32Array(new SharedArrayBuffer(4)),
})

/** The kernel's number of the thread that asks; 0 outside of Linux. */
export function currentTask(): number {
  try {
    return Number(basename(readlinkSync('/proc/thread-self')))
  } catch {
    return 0
  }
}

/**
 * The processor time of a thread of this process, in ms.
 * @returns null where it cannot be read: outside of Linux, or when the thread has ended
 */
export function processorTimeOf(task: number): number | null {
  if (task === 0) return null
  try {
    const stat = readFileSync(`/proc/self/task/${task}/stat`, 'latin1')
    // The name of the thread may hold spaces; user and system time are the 14th and the 15th field.
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
    return (Number(user) + Number(system)) * TICK_MS
  } catch {
    return null
  }
}

/**
 * Looks at the renders of one thread, again and again.
 * @returns null while the render under way is within its time; `starved` when it is past it by the clock alone
 */
export function createTimes({ begun, task }: ThreadState) {
  let seen = 0n
  let usedBefore_ms: number | null = null
  return ({
    limit_ms,
    clock_ms,
  }: Pick<Task, 'limit_ms' | 'clock_ms'>): 'too_slow' | 'starved' | null => {
    const since = Atomics.load(begun, 0)
    if (since === 0n) return null
    if (since !== seen) {
      seen = since
      usedBefore_ms = processorTimeOf(Atomics.load(task, 0))
    }
    const taken_ms = Number(process.hrtime.bigint() - since) / 1e6
    if (taken_ms < limit_ms) return null
    const used_ms = processorTimeOf(Atomics.load(task, 0))
    // Outside of Linux the clock alone says what is too slow.
    if (used_ms === null || usedBefore_ms === null) return 'too_slow'
    if (used_ms - usedBefore_ms >= limit_ms) return 'too_slow'
    return taken_ms < clock_ms ? null : 'starved'
  }
}
