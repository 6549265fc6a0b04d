// Two npm starts beside each other, at the same time: every port is chosen, and stands in each one's dev.json.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { recordChild } from '../../dev/children.ts'
import type { DevInfo } from '../../dev/folder.ts'
import { lastLines, startChild } from '../../dev/processes.ts'
import { eventually } from '../setup/eventually.ts'
import { uniqueName } from '../setup/unique.ts'

const START_WAIT_MS = 90_000
/** What the machine's own environment may say of the parts. */
const OWN_PARTS = /^(DATABASE_URL|SECRET_KEY|SMTP_URL|TEMPORAL_|\w*PORT$|npm_lifecycle_event$)/

async function npmStart() {
  const folder = join(inject('runFolder'), uniqueName('start'))
  const child = await startChild({
    name: 'npm start',
    command: process.execPath,
    args: ['dev/start.mjs'],
    hiddenEnv: OWN_PARTS,
    env: { DRIPLINE_DATA: folder, TEMPORAL_CLI_PATH: inject('temporalCli') },
    logFile: `${folder}.log`,
  })
  recordChild(join(inject('runFolder'), 'children'), child, ['SIGTERM'])
  onTestFinished(() => child.stop({ wait_ms: 20_000 }))
  const info = await eventually(
    () => {
      if (!child.alive()) return undefined
      return JSON.parse(readFileSync(join(folder, 'dev.json'), 'utf8')) as DevInfo
    },
    { deadline_ms: START_WAIT_MS },
  )
  if (!info) throw new Error(lastLines(`${folder}.log`))
  return { child, info }
}

const portOf = (address: string) => Number(/:(\d+)(\/|$)/.exec(address.replace(/^.*@/, ''))?.[1])
const statusOf = async (url: string) => (await fetch(url)).status

test('two starts in two folders run beside each other', async () => {
  const starts = await Promise.all([npmStart(), npmStart()])
  const ports = starts.flatMap(({ info: { api_key, ...addresses } }) =>
    Object.values(addresses).map((address) => portOf(address ?? '')),
  )
  expect(ports).toHaveLength(18)
  expect(new Set(ports).size).toBe(18)
  for (const { child, info } of starts) {
    expect(await statusOf(`${info.api_url}/healthz`)).toBe(200)
    for (const metrics of [info.api_metrics_url, info.metrics_url]) {
      const text = await (await fetch(metrics)).text()
      expect(text).toContain(`process="${metrics === info.metrics_url ? 'worker' : 'api'}"`)
    }
    const headers = { authorization: `Bearer ${info.api_key}` }
    expect((await fetch(`${info.api_url}/v1/workflows`, { headers })).status).toBe(200)
    await child.stop({ wait_ms: 20_000 })
    expect(await child.exited).toEqual({ code: 0, signal: null })
  }
}, 180_000)
