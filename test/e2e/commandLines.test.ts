// Every command line of an operator: unknown options exit 2 with the usage, a wrong environment exits 1 with what
// to do.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { runOperator } from '../setup/operator.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'

const commands = readdirSync('operate').filter((file) =>
  readFileSync(`operate/${file}`, 'utf8').includes('process.env'),
)

test('npm runs all of them', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    scripts: Record<string, string>
  }
  const known = Object.values(scripts).flatMap(
    (script) => /operate\/(\w+\.ts)/.exec(script)?.[1] ?? [],
  )
  expect(known.sort()).toEqual(commands.sort())
})

test.each(commands)(
  '%s says how it is used, and what is wrong with its environment',
  async (file) => {
    const command = file.replace(/\.ts$/, '')
    const [bogus, surplus, help, unset] = await Promise.all([
      runOperator(command, ['--bogus']),
      runOperator(command, ['surplus']),
      runOperator(command, ['--help']),
      runOperator(command, [], { DATABASE_URL: 'mysql://x', SECRET_KEY: TEST_SECRET_KEY }),
    ])
    for (const { code, stdout, stderr } of [bogus, surplus]) {
      expect([code, stdout]).toEqual([2, ''])
      expect(stderr).toMatch(/'(--bogus|surplus)'.*\nUsage: npm run /s)
    }
    expect([help.code, help.stderr]).toEqual([0, ''])
    expect(help.stdout).toMatch(/^Usage: npm run /)
    expect([unset.code, unset.stdout]).toEqual([1, ''])
    expect(unset.stderr).toContain('  DATABASE_URL: must start with postgres://\nRun this with')
  },
)

test('npm runs one from its source, which says the same', async () => {
  const run = promisify(execFile)
  const { stdout } = await run('npm', ['run', '--silent', 'lanes', '--', '--help'])
  expect(stdout).toBe((await runOperator('lanes', ['--help'])).stdout)
})

test('an unknown permission exits 2', async () => {
  const { code, stderr } = await runOperator('createKey', ['--permission', 'everything'])
  expect([code, stderr.split('\n')[0]]).toEqual([2, 'Unknown permission everything'])
})

test.each([
  ['--workspace', ['', ' ', 'w'.repeat(256), 'two\nlines', '\u001b[31mred']],
  ['--name', ['', 'n'.repeat(256), 'two\u2028lines']],
  ['--first-name', ['', '\u0007']],
  ['--last-name', [' ']],
  ['--email', ['', 'not an address', 'Ada <ada@example.com>']],
])('a key is made for nobody whose %s is none', async (option, texts) => {
  // Nobody answers there: what is wrong is said before anybody is asked.
  const env = { DATABASE_URL: 'postgres://127.0.0.1:1/x' }
  const owner = option.endsWith('-name') ? ['--email', 'ada@example.com'] : []
  for (const text of texts) {
    const { code, stdout, stderr } = await runOperator('createKey', [...owner, option, text], env)
    expect([code, stdout], text).toEqual([2, ''])
    expect(stderr).toMatch(new RegExp(`^${option} must be .*\nUsage: npm run key:create`))
  }
})
