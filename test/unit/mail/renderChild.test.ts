// The child process of a renderer knows nothing that it does not need: not the secrets of its parent, nor its time zone.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startChild } from '../../../mail/content/pool/child.ts'

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
