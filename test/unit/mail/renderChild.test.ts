// The child process of a renderer knows nothing that it does not need: not the secrets of its parent, nor its time zone. It
// never outlives its parent.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isAlive } from '../../../dev/processes/processes.ts'
import { startChild } from '../../../mail/content/pool/child.ts'
import { eventually } from '../../setup/eventually.ts'

const DYING_PARENT = join(import.meta.dirname, '../../setup/dyingParent.ts')

/** The variables of another process, one after the other. */
function variablesOf(pid: number): string {
  const file = `/proc/${pid}/environ`
  if (existsSync(file)) return readFileSync(file, 'utf8').replaceAll('\0', ' ')
  return execFileSync('ps', ['eww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
}

test('the child has PATH of its parent, and neither its secrets nor its language and zone', async () => {
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const name of ['SECRET_KEY', 'TZ', 'LANG', 'LC_ALL']) vi.stubEnv(name, 'of-the-parent')
  const child = await new Promise<ReturnType<typeof startChild>>((resolve, reject) => {
    const started = startChild({
      onReady: () => resolve(started),
      onOutcomes: () => undefined,
      onEnd: () => reject(new Error('the child ended')),
    })
  })
  onTestFinished(() => child.close())
  const variables = variablesOf(child.pid ?? 0)
  expect(variables).toContain(`PATH=${process.env['PATH']}`)
  expect(variables).not.toContain('of-the-parent')
}, 60_000)

test('the child ends when its parent died before the child had loaded its modules', async () => {
  const parent = spawn(process.execPath, ['--import', 'tsx', DYING_PARENT], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said, [, signal]] = await Promise.all([text(parent.stdout), once(parent, 'exit')])
  expect(signal).toBe('SIGKILL')
  const pid = Number(said)
  expect(pid).toBeGreaterThan(0)
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  await eventually(() => expect(isAlive(pid)).toBe(false))
}, 90_000)
