// The end of a child process: how it ended, and waiting for it.
import type { ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'

/** How a process ended; one of the two is null. */
export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** Watches a child that was just spawned. `exited` never rejects; a child that cannot start ends with code 127. */
export function watchExit(child: ChildProcess) {
  let ended = false
  const exited = new Promise<Exit>((resolve) => {
    const end = (exit: Exit) => {
      ended = true
      resolve(exit)
    }
    child.once('exit', (code, signal) => end({ code, signal }))
    child.once('error', () => end({ code: 127, signal: null }))
  })
  return { exited, isEnded: () => ended }
}

/** Waits for the end. @returns false if it does not come in this time */
export async function endsWithin(exited: Promise<Exit>, wait_ms: number): Promise<boolean> {
  const timer = new AbortController()
  const ended = await Promise.race([
    exited.then(() => true),
    pause(wait_ms, false, { signal: timer.signal }).catch(() => false),
  ])
  timer.abort()
  return ended
}
