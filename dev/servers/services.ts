// Starts the API and the worker as separate processes, and waits until they are ready.
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { endOf } from '../processes/endOf.ts'
import { type Child, startChild } from '../processes/processes.ts'
import { findAllocator } from './allocator.ts'

const ROOT = join(import.meta.dirname, '..', '..')
/** A busy machine takes ten times as long as a quiet one. */
const READY_WAIT_MS = 120_000
const POLL_MS = 50

export type ServiceName = 'api' | 'worker'

/**
 * Starts one process. The tsx command is not used, because it would wrap the process, and kill -9 would hit only
 * the wrapper.
 * @param dist folder of a build (dev/build.mjs) to run; without it the sources are run
 */
export function startService(
  name: ServiceName,
  env: Record<string, string>,
  logFile: string,
  dist?: string,
): Promise<Child> {
  const main = dist ? [join(dist, name, 'main.js')] : ['--import', 'tsx', `${name}/main.ts`]
  return startChild({
    name,
    command: process.execPath,
    args: ['--enable-source-maps', ...main],
    env: { ...findAllocator().env, ...env },
    cwd: ROOT,
    logFile,
  })
}

/**
 * Polls `url` until it answers 200.
 * @throws Error with the child's last log lines if it ends first, or is not ready in time
 */
export async function waitReady(child: Child, url: string, wait_ms = READY_WAIT_MS): Promise<void> {
  const deadline = Date.now() + wait_ms
  let last = 'no answer'
  while (child.alive() && Date.now() < deadline) {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
      const body = await response.text()
      if (response.status === 200) return
      last = `${response.status} ${body.slice(0, 200)}`
    } catch (err) {
      last = err instanceof Error ? err.message : String(err)
    }
    await pause(POLL_MS)
  }
  if (!child.alive()) throw new Error(endOf(child, await child.exited))
  const path = new URL(url).pathname
  throw new Error(`${endOf(child, undefined)}\n  ${path} after ${wait_ms / 1000} s: ${last}`)
}
