// A thread inside one call that nothing can stop: its process can end all the same.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const PROCESS = join(import.meta.dirname, '../../setup/stuckProcess.ts')
const SECONDS = 1_000

test(
  'a process with such a thread ends at once',
  async () => {
    const child = spawn(process.execPath, ['--import', 'tsx', PROCESS], { stdio: 'inherit' })
    onTestFinished(() => void child.kill('SIGKILL'))
    // The call takes minutes.
    const deadline = setTimeout(() => child.kill('SIGTERM'), 45 * SECONDS)
    const signal = await new Promise((resolve) => child.once('exit', (_code, by) => resolve(by)))
    clearTimeout(deadline)
    expect(signal).toBe('SIGKILL')
  },
  60 * SECONDS,
)
