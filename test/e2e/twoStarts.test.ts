// Two npm starts beside each other, at the same time: every port is chosen, and what their screens print works.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../setup/eventually.ts'
import { npmStart, type Started } from '../setup/npmStart.ts'

const run = promisify(execFile)

const portOf = (address: string) => Number(/:(\d+)(\/|$)/.exec(address.replace(/^.*@/, ''))?.[1])
const statusOf = async (url: string) => (await fetch(url)).status

/** What was printed when all was ready. */
async function screenOf({ child }: Started): Promise<string> {
  return eventually(() => {
    const printed = readFileSync(child.logFile, 'utf8')
    expect(printed).toMatch(/\nNext: .*\n$/)
    return printed.slice(printed.indexOf('\nDripline is ready'))
  })
}

/** Runs a command of the screen as somebody does who pastes it. @returns the answer's body */
async function paste(command: string): Promise<Record<string, unknown>> {
  const { stdout } = await run('sh', ['-c', `${command} --silent`])
  return JSON.parse(stdout) as Record<string, unknown>
}

test('two starts in two folders run beside each other', async () => {
  const starts = await Promise.all([npmStart(onTestFinished), npmStart(onTestFinished)])
  const ports = starts.flatMap(({ info: { api_key, ...addresses } }) =>
    Object.values(addresses).map((address) => portOf(address ?? '')),
  )
  expect(ports).toHaveLength(20)
  expect(new Set(ports).size).toBe(20)
  for (const start of starts) {
    const { child, info, stop } = start
    expect(await statusOf(`${info.api_url}/healthz`)).toBe(200)
    for (const metrics of [info.api_metrics_url, info.metrics_url]) {
      const text = await (await fetch(metrics)).text()
      expect(text).toContain(`process="${metrics === info.metrics_url ? 'worker' : 'api'}"`)
    }
    const screen = await screenOf(start)
    expect(screen.trimEnd().split('\n').length).toBeLessThan(20)
    const [send = '', post = ''] = screen.match(/^ {2}curl .*\\\n.*\\\n.*$/gm) ?? []
    expect(await paste(send)).toMatchObject({ id: expect.stringMatching(/^em_/) })
    expect(await paste(post)).toMatchObject({ executions: [expect.stringMatching(/^exe_/)] })
    // The mail that was sent, and the first of the three that the event brings.
    await eventually(async () => {
      const mails = (await (await fetch(`${info.inbox_url}/email`)).json()) as { subject: string }[]
      const subjects = mails.map(({ subject }) => subject)
      expect(subjects).toEqual(expect.arrayContaining(['Hello', 'Welcome to Dripline']))
    })
    await stop()
    expect(await child.exited).toEqual({ code: 0, signal: null })
  }
}, 180_000)
