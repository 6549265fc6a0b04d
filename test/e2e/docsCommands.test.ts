// A reader follows the docs: every command of README and docs/ that calls the API runs in a real shell beside `npm start`.
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { pagePaths } from '../../dev/docs/pages.ts'
import { fencesOf } from '../setup/docs.ts'
import { eventually } from '../setup/eventually.ts'
import { npmStart, type Started } from '../setup/npmStart.ts'
import { commandsOf, followPage, runCommand } from '../setup/readerShell.ts'
import { openShell } from '../setup/shell.ts'

let started: Started
beforeAll(async () => {
  started = await npmStart(afterAll)
}, 180_000)

interface InboxMail {
  subject: string
  to: { address: string }[]
}

/** Subjects of the mail to an address, as the inbox shows them. */
async function subjectsTo(address: string): Promise<string[]> {
  const mails = (await (await fetch(`${started.info.inbox_url}/email`)).json()) as InboxMail[]
  return mails
    .filter(({ to }) => to.some((one) => one.address === address))
    .map(({ subject }) => subject)
}

async function statusOf(execution: string): Promise<string> {
  const headers = { authorization: `Bearer ${started.info.api_key}` }
  const answer = await fetch(`${started.info.api_url}/v1/executions/${execution}`, { headers })
  return ((await answer.json()) as { status: string }).status
}

test('the first workflow of the README runs as it says', { timeout: 60_000 }, async () => {
  const shell = openShell(started.folder)
  onTestFinished(shell.close)
  const [readKey, create, start, goOn, read, ...others] = commandsOf('README.md')
  if (!readKey || !create || !start || !goOn || !read) throw new Error('README has five commands')
  expect(others).toEqual([])

  await runCommand(shell, readKey)
  expect((await runCommand(shell, create)).statuses).toEqual([201])
  const execution = (await runCommand(shell, start)).output.trim()
  expect(execution).toMatch(/^exe_/)
  const grace = 'grace@example.com'
  await eventually(async () => expect(await subjectsTo(grace)).toEqual(['Welcome, Grace']))
  await eventually(async () => expect(await statusOf(execution)).toBe('WAITING'))

  await runCommand(shell, goOn)
  await eventually(async () => expect(await statusOf(execution)).toBe('COMPLETED'))
  await eventually(async () =>
    expect((await subjectsTo(grace)).sort()).toEqual([
      'Analytical Engine is there',
      'Welcome, Grace',
    ]),
  )
  const { output } = await runCommand(shell, read)
  expect(output).toContain('"status":"COMPLETED"')
  expect(output.slice(output.indexOf('start ->')).trim().split('\n')).toEqual([
    'start -> default',
    'welcome -> default',
    'project -> received',
    'well-done -> default',
    'done -> end',
  ])
})

const pages = pagePaths().filter((page) => page !== 'README.md' && commandsOf(page).length > 0)

test.each(pages)('the commands of %s answer as it says', { timeout: 120_000 }, async (page) => {
  await followPage(page, started.folder)
})

const programs = fencesOf().filter(({ language }) => language === 'ts')

test.each(programs.map((fence) => [`${fence.page}:${fence.line}`, fence] as const))(
  'the program at %s runs',
  async (name, { text }) => {
    const file = join(started.folder, `${name.replace(/\W+/g, '-')}.mts`)
    writeFileSync(file, text)
    const { api_url, api_key } = started.info
    const env = { ...process.env, DRIPLINE_BASE_URL: api_url, DRIPLINE_API_KEY: api_key }
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', file], {
      env,
    })
    expect(stdout).toMatch(/^em_\w{26} queued\n$/)
  },
)
