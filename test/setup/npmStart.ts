// A whole `npm start` for a test, in a data folder of its own; it ends with the test or the file that asked for it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { recordChild } from '../../dev/processes/children.ts'
import { type Child, lastLines, startChild } from '../../dev/processes/processes.ts'
import type { DevInfo } from '../../dev/start/folder.ts'
import { eventually } from './eventually.ts'
import { uniqueName } from './unique.ts'

const START_WAIT_MS = 150_000
const STOP_WAIT_MS = 20_000
/** What the machine's own environment may say of the parts. */
const OWN_PARTS = /^(DATABASE_URL|SECRET_KEY|SMTP_URL|TEMPORAL_|\w*PORT$|npm_lifecycle_event$)/

export interface Started {
  child: Child
  info: DevInfo
  /** The folder that holds `.data`, as a clone does. */
  folder: string
  stop: () => Promise<void>
}

/**
 * Starts it and waits until it is ready.
 * @param onEnd takes the function that stops it: `onTestFinished` or `afterAll`
 * @throws Error with the end of its output when it ends, or its time is over, before it is ready
 */
export async function npmStart(onEnd: (stop: () => Promise<void>) => void): Promise<Started> {
  const folder = join(inject('runFolder'), uniqueName('start'))
  const child = await startChild({
    name: 'npm start',
    command: process.execPath,
    args: ['dev/start.mjs'],
    hiddenEnv: OWN_PARTS,
    env: { DRIPLINE_DATA: join(folder, '.data'), TEMPORAL_CLI_PATH: inject('temporalCli') },
    logFile: `${folder}.log`,
  })
  recordChild(join(inject('runFolder'), 'children'), child, ['SIGTERM'])
  const stop = () => child.stop({ wait_ms: STOP_WAIT_MS })
  onEnd(stop)
  const ready = () => {
    if (!child.alive()) return undefined
    return JSON.parse(readFileSync(join(folder, '.data', 'dev.json'), 'utf8')) as DevInfo
  }
  const info = await eventually(ready, { deadline_ms: START_WAIT_MS }).catch(() => undefined)
  if (!info) throw new Error(`npm start is not ready:\n${lastLines(`${folder}.log`)}`)
  return { child, info, folder, stop }
}
