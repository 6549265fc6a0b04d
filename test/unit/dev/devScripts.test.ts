// The plain Node scripts behind npm start and npm test, each run in a copy of the project that holds fakes.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const dev = join(import.meta.dirname, '../../../dev')
const lock = {
  packages: {
    '': { name: 'x', version: '1.0.0' },
    'node_modules/a': { version: '1.0.0' },
    'node_modules/other-system': { version: '2.0.0', optional: true },
  },
}

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dripline-scripts-'))
  for (const file of ['console.mjs', 'install.mjs', 'machine.mjs', 'test.mjs'])
    cpSync(join(dev, file), join(folder, 'dev', file))
  write('package-lock.json', lock)
  // npm, for run by npm_execpath: says what it was asked for and installs package a in its locked version.
  write(
    'npm.js',
    `const fs = require('node:fs')
     fs.appendFileSync('asked', process.argv.slice(2).join(' ') + '\\n')
     if (process.env.NPM_FAILS) process.exit(3)
     fs.mkdirSync('node_modules', { recursive: true })
     fs.writeFileSync('node_modules/.package-lock.json', ${JSON.stringify(JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.0' } } }))})`,
  )
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(path: string, content: unknown): void {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
}

function asked(): string {
  try {
    return readFileSync(join(folder, 'asked'), 'utf8')
  } catch {
    return ''
  }
}

function runNode(args: string[], env: Record<string, string> = {}) {
  return spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, npm_execpath: join(folder, 'npm.js'), ...env },
  })
}

const install = (env?: Record<string, string>) =>
  runNode(['-e', `import('./dev/install.mjs').then((m) => m.ensureInstalled())`], env)

describe('install.mjs', () => {
  test('runs npm ci when node_modules is absent, and not again', () => {
    expect(install().status).toBe(0)
    expect(asked()).toMatch(/^ci --include=dev --ignore-scripts/)
    expect(install().status).toBe(0)
    expect(asked().split('\n')).toHaveLength(2)
  })

  test('leaves alone what somebody else installed from this lock file', () => {
    write('node_modules/.package-lock.json', {
      packages: { 'node_modules/a': { version: '1.0.0' } },
    })
    install()
    expect(asked()).toBe('')
  })

  test.each([
    ['another version', { 'node_modules/a': { version: '1.0.1' } }],
    ['one missing', {}],
    [
      'one too many',
      { 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '1' } },
    ],
  ])('runs npm ci for %s', (_, packages) => {
    write('node_modules/.package-lock.json', { packages })
    install()
    expect(asked()).toMatch(/^ci /)
  })

  test('runs npm ci when the lock file has changed since', () => {
    install()
    write('package-lock.json', {
      packages: { ...lock.packages, 'node_modules/a': { version: '1.1.0' } },
    })
    install()
    expect(asked().match(/^ci /gm)).toHaveLength(2)
  })

  test('ends with an error when npm ci fails, and leaves no lock behind', () => {
    const failed = install({ NPM_FAILS: '1' })
    expect(failed.status).toBe(1)
    expect(failed.stderr).toContain('npm ci failed')
    expect(install().status).toBe(0)
  })

  test('refuses an old Node with one sentence', () => {
    const old = runNode([
      '-e',
      `Object.defineProperty(process.versions, 'node', { value: '20.18.3' })
       import('./dev/install.mjs').then((m) => m.checkNode())`,
    ])
    expect(old.status).toBe(1)
    expect(old.stderr).toMatch(
      /^Dripline needs Node 20\.19 or newer, and this is 20\.18\.3: install .*\n$/,
    )
  })
})

describe('test.mjs', () => {
  /** A vitest that writes `report`, or nothing, and ends with `code`. */
  function runTests(report: object | null, code: number, args: string[] = []) {
    write(
      'node_modules/vitest/vitest.mjs',
      `import { appendFileSync, writeFileSync } from 'node:fs'
       appendFileSync('asked', process.argv.slice(2).join(' '))
       const file = process.argv.find((arg) => arg.startsWith('--outputFile.json=')).split('=')[1]
       const report = ${JSON.stringify(report)}
       if (report) writeFileSync(file, JSON.stringify(report))
       process.exit(${code})`,
    )
    write('node_modules/.package-lock.json', {
      packages: { 'node_modules/a': { version: '1.0.0' } },
    })
    const { status, stdout } = runNode(['dev/test.mjs', ...args])
    const said = stdout.trimEnd().split('\n')
    return { status, last: said.at(-1), said }
  }
  const report = (passed: number, failed: number, skipped = 0) => ({
    numPassedTests: passed,
    numFailedTests: failed,
    numPendingTests: skipped,
    numTodoTests: 0,
    testResults: [],
  })
  const broken = { testResults: [{ name: 'a.test.ts', status: 'failed', assertionResults: [] }] }

  test.each([
    ['all passed', report(7, 0), 0, 0, '7 passed, 0 failed'],
    ['some failed', report(5, 2), 1, 1, '5 passed, 2 failed'],
    ['a file does not load', { ...report(5, 0), ...broken }, 1, 1, '5 passed, 1 failed'],
    ['servers do not start', null, 1, 1, '0 passed, 1 failed'],
    ['no test ran', report(0, 0), 0, 1, '0 passed, 0 failed'],
    ['one was skipped', report(5, 0, 1), 0, 1, '5 passed, 0 failed'],
  ])('%s', (_, written, code, status, last) => {
    expect(runTests(written, code)).toMatchObject({ status, last })
  })

  test('each failed test has a line just before the counts', () => {
    const one = (status: string, ...names: string[]) => ({
      status,
      ancestorTitles: names.slice(0, -1),
      title: names.at(-1),
      failureMessages:
        status === 'failed'
          ? ['AssertionError: \u001b[31mtwo\u001b[39m\nlines\n    at file.ts:1']
          : [],
    })
    const testResults = [
      {
        name: join(folder, 'test/a.test.ts'),
        status: 'failed',
        assertionResults: [one('failed', 'sums', 'it\nadds'), one('passed', 'sums', 'it waits')],
      },
      {
        name: join(folder, 'test/b.test.ts'),
        status: 'failed',
        message: 'no such file',
        assertionResults: [],
      },
      { name: join(folder, 'test/c.test.ts'), status: 'passed', assertionResults: [] },
    ]
    expect(runTests({ ...report(1, 1), testResults }, 1).said.slice(-3)).toEqual([
      'failed: test/a.test.ts > sums > it adds: AssertionError: two lines',
      'failed: test/b.test.ts > (did not load): no such file',
      '1 passed, 2 failed',
    ])
  })

  test('runs the projects unit and real, or those that are asked for', () => {
    runTests(report(1, 0), 0)
    expect(asked()).toMatch(/^run --project unit --project real /)
    rmSync(join(folder, 'asked'))
    runTests(report(1, 0), 0, ['--project', 'soak'])
    expect(asked()).not.toContain('unit')
    expect(asked()).toMatch(/--project soak$/)
  })

  test('skipped tests are no fault when some were asked for by name', () => {
    expect(runTests(report(1, 0, 6), 0, ['-t', 'one']).status).toBe(0)
    expect(runTests(report(1, 0, 6), 0, ['test/api/']).status).toBe(1)
  })
})
