// Starts the API and the worker from their sources as processes of their own, and waits until they are ready.
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Child, lastLines, startChild } from './processes.ts'

const ROOT = dirname(import.meta.dirname)
const READY_WAIT_MS = 60_000
const POLL_MS = 50

export type ServiceName = 'api' | 'worker'

/** One process, without the wrapper that the tsx command would put around it: kill -9 hits it alone. */
export function startService(
  name: ServiceName,
  env: Record<string, string>,
  logFile: string,
): Promise<Child> {
  return startChild({
    name,
    command: process.execPath,
    args: ['--enable-source-maps', '--import', 'tsx', `${name}/main.ts`],
    env,
    cwd: ROOT,
    logFile,
  })
}

/**
 * Polls `url` until it answers 200.
 * @throws Error with the child's last log lines when it ends before, or does not get ready in time
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
  const what = child.alive() ? `is not ready after ${wait_ms / 1000} s (${last})` : 'ended'
  throw new Error(`${child.name} ${what}:\n${lastLines(child.logFile)}`)
}
