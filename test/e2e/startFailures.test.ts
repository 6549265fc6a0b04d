// npm start that cannot go on: it ends at once with one sentence and the next step, and never with a stack trace.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { randomPort } from '../../dev/processes/ports.ts'
import { launchTemporal } from '../setup/launch.ts'
import { takePort } from '../setup/takenPort.ts'
import { uniqueName } from '../setup/unique.ts'

const SCRIPT = join(import.meta.dirname, '../../dev/start.mjs')
/** What the machine's own environment may say of the parts. */
const OWN_PARTS =
  /^(DATABASE_URL|SECRET_KEY|SMTP_URL|TEMPORAL_|DRIPLINE_|\w*PORT$|npm_lifecycle_event$)/

let taken: Awaited<ReturnType<typeof takePort>>
let deadPort: number

beforeAll(async () => {
  taken = await takePort()
  deadPort = await randomPort()
})
afterAll(() => {
  taken.close()
})

const newFolder = () => join(inject('runFolder'), uniqueName('failing'))

async function start(env: Record<string, string>) {
  const inherited = Object.entries(process.env).filter(([name]) => !OWN_PARTS.test(name))
  const child = spawn(process.execPath, [SCRIPT], {
    env: { ...Object.fromEntries(inherited), DRIPLINE_DATA: newFolder(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stderr, stdout, [code]] = await Promise.all([
    text(child.stderr),
    text(child.stdout),
    once(child, 'exit'),
  ])
  return { code, stderr, stdout }
}

/** Why it cannot go on, the environment that makes it so, and the sentence. Others are tested where they are made. */
const failures: [name: string, env: () => Record<string, string>, said: RegExp][] = [
  [
    'a port that is taken',
    () => ({ PORT: String(taken.port) }),
    /^PORT is \d+, but something else uses that port: ask for another, or unset PORT/,
  ],
  [
    'a database that does not answer',
    () => ({ DATABASE_URL: `postgres://u:secret@127.0.0.1:${deadPort}/x` }),
    /^DATABASE_URL names 127\.0\.0\.1:\d+, and nobody answers there \(ECONNREFUSED\): start/,
  ],
  [
    'a data folder that is a file',
    () => {
      const file = newFolder()
      writeFileSync(file, '')
      return { DRIPLINE_DATA: file }
    },
    /^The data folder \S+ (goes through a file|is a file).*: mend that, or name another .*DRIPLINE_DATA\.$/,
  ],
  [
    'a Postgres data folder of another version',
    () => {
      const folder = newFolder()
      mkdirSync(join(folder, 'postgres'), { recursive: true })
      writeFileSync(join(folder, 'postgres', 'PG_VERSION'), '16\n')
      return { DRIPLINE_DATA: folder, TEMPORAL_CLI_PATH: inject('temporalCli') }
    },
    /^\S+ was made by Postgres 16, and this project runs on Postgres 18: move it away/,
  ],
]

test.each(failures)('%s', async (_, env, said) => {
  const { code, stderr, stdout } = await start(env())
  expect(stderr).toMatch(/^\nnpm start: [^\n]+\n$/)
  expect(stderr.trim().replace('npm start: ', '')).toMatch(said)
  expect(stderr + stdout).not.toMatch(/\n\s+at |secret/)
  expect(code).toBe(1)
})

test('a Temporal file that a killed first start left half-made is made anew', async () => {
  const folder = newFolder()
  mkdirSync(folder)
  writeFileSync(join(folder, 'temporal.db'), 'half of a table')
  writeFileSync(join(folder, 'temporal.db.unfinished'), '')
  const cli = inject('temporalCli')
  const temporal = await launchTemporal({ folder, name: 'temporal', cli, persistent: true })
  onTestFinished(() => temporal.stop())
  expect(existsSync(join(folder, 'temporal.db.unfinished'))).toBe(false)
})
