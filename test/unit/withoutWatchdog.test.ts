// The thread of workflow functions has no watchdog: each call that has one starts and ends a thread of the system.

import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runWithoutWatchdog } from '../../worker/withoutWatchdog.ts'

const require = createRequire(import.meta.url)

/** Runs code in a context for longer than its time-out, in a thread that is started as the SDK starts its own. @returns what came of it */
async function runOverTime(name: string): Promise<string> {
  const code = `
    const { createContext, Script } = require('node:vm')
    const { parentPort } = require('node:worker_threads')
    const context = createContext({ Date }, { microtaskMode: 'afterEvaluate' })
    const script = new Script('const end = Date.now() + 100; while (Date.now() < end); "done"')
    try {
      parentPort.postMessage(script.runInContext(context, { timeout: 5, displayErrors: true }))
    } catch (err) {
      parentPort.postMessage(err.code)
    }`
  const folder = mkdtempSync(join(tmpdir(), 'dripline-thread-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, name)
  writeFileSync(file, code)
  const { Worker } = require('node:worker_threads')
  const thread = new Worker(file)
  const [said] = await once(thread, 'message')
  await thread.terminate()
  return said
}

test('calls of the thread of workflow functions have no time-out, and those of other threads have', async () => {
  const OVER_TIME = 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  expect(await runOverTime('workflow-worker-thread.js'), 'before').toBe(OVER_TIME)
  runWithoutWatchdog()
  expect(await runOverTime('workflow-worker-thread.js')).toBe('done')
  expect(await runOverTime('other.js')).toBe(OVER_TIME)
})

test('the SDK starts its thread, and calls into it, in the way that worker/withoutWatchdog.ts relies on', () => {
  const creator = readFileSync(
    require.resolve('@temporalio/worker/lib/workflow/threaded-vm.js'),
    'utf8',
  )
  expect(creator).toContain('require("node:worker_threads")')
  expect(creator).toContain(".Worker(require.resolve('./workflow-worker-thread'))")
  const calls = readFileSync(
    require.resolve('@temporalio/worker/lib/workflow/reusable-vm.js'),
    'utf8',
  )
  expect(calls).toContain('timeout: isolateExecutionTimeoutMs')
})
