// npm start kills no worker that still finishes its mail.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { claimFolder, markStopping, openFolder, releaseFolder } from '../../../dev/start/folder.ts'
import { stopWaits } from '../../../dev/start/stopWaits.ts'
import { Variables } from '../../../runtime/environment.ts'

test.each([
  [undefined, Variables.shape.DRAIN_SECONDS.parse(undefined)],
  ['', Variables.shape.DRAIN_SECONDS.parse(undefined)],
  ['0', 0],
  ['90', 90],
  ['soon', 0],
])('DRAIN_SECONDS %s: ten seconds more than %s', (given, drain_s) => {
  const { service_ms, backing_ms, all_ms } = stopWaits({ DRAIN_SECONDS: given })
  expect(service_ms).toBe(drain_s * 1000 + 10_000)
  expect(all_ms).toBeGreaterThan(service_ms + backing_ms)
})

test('who starts on a folder that is being stopped waits for as long as that may take', async () => {
  const root = mkdtempSync(join(tmpdir(), 'dripline-stopping-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const folder = openFolder(root)
  const quiet = () => {}
  await claimFolder(folder, quiet)
  markStopping(folder, 200)
  await expect(claimFolder(folder, quiet)).rejects.toThrow(/already runs/)
  markStopping(folder, 600_000)
  const waits = claimFolder(folder, quiet)
  releaseFolder(folder)
  await waits
})
