// The end of everything: no child outlives it, not even one that was just being started. Alone, since nothing starts after it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { killAllChildren, startChild } from '../../../dev/processes/processes.ts'

test('a child that is just being started is killed with the others, and no other starts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dripline-kill-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const logFile = join(folder, 'child.log')
  const args = ['-e', 'setInterval(() => {}, 1000)']
  const options = { name: 'child', command: process.execPath, args, logFile }
  const running = await startChild(options)
  const starting = startChild(options)
  await killAllChildren()
  const started = await starting
  onTestFinished(() => started.kill())
  expect([running.alive(), started.alive()]).toEqual([false, false])
  await expect(startChild(options)).rejects.toThrow('everything is being stopped')
})
