// .ci/run in a folder of fakes: on which Node what runs, how the counts add up, and what makes it fail.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const CI_RUN = join(import.meta.dirname, '../../../.ci/run')

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dripline-ci-'))
  mkdirSync(join(folder, '.ci'))
  cpSync(CI_RUN, join(folder, '.ci/run'))
  write(
    'dev/install.mjs',
    'export const checkNode = () => {}; export const ensureInstalled = () => {}',
  )
  for (const part of ['Nsd', 'Dkimpy']) write(`dev/install${part}.mjs`, '')
  write('dev/installNode.mjs', `console.log(${JSON.stringify(join(folder, 'newest/node'))})`)
  // The Node that it is started with, and the newest, each with its version; and npm, which asks for that.
  program(
    'floor/node',
    `if [ "$1" = --version ]; then echo v20.0.0; else exec ${process.execPath} "$@"; fi`,
  )
  program('newest/node', 'echo v26.0.0')
  program(
    'floor/npm',
    `run="$(node --version | cut -d. -f1) $*"
     echo "$run" >> asked
     case "$run" in
       *check:static) exit \${CHECK:-0} ;;
       v20*) echo "\${FLOOR:-7 passed, 0 failed}"; exit \${FLOOR_CODE:-0} ;;
       *) echo "\${NEWEST:-5 passed, 0 failed}"; exit \${NEWEST_CODE:-0} ;;
     esac`,
  )
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(path: string, content: string): string {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  return file
}

function program(path: string, script: string): void {
  chmodSync(write(path, `#!/bin/sh\n${script}\n`), 0o755)
}

function run(env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync('bash', ['.ci/run'], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: `${join(folder, 'floor')}:/usr/bin:/bin`, ...env },
  })
  return { status, stderr, said: stdout.trimEnd().split('\n') }
}

test('every test runs once on the Node at hand, those of the units and of one way through all rooms on the newest as well', () => {
  const { status, stderr, said } = run()
  expect([status, stderr]).toEqual([0, ''])
  expect(readFileSync(join(folder, 'asked'), 'utf8').trimEnd().split('\n')).toEqual([
    'v20 run check:static',
    'v20 test -- --all',
    'v26 test -- --project unit --project real test/unit/ test/api/emails.test.ts test/api/executions.test.ts test/e2e/slice.test.ts test/e2e/send.test.ts',
  ])
  expect(said.filter((line) => line.startsWith('Node '))).toEqual([
    'Node v20.0.0: 7 passed, 0 failed',
    'Node v26.0.0: 5 passed, 0 failed',
  ])
  expect(said.at(-1)).toBe('12 passed, 0 failed')
})

test.each([
  [
    'a test fails on the newest alone',
    { NEWEST: '4 passed, 1 failed', NEWEST_CODE: '1' },
    '11 passed, 1 failed',
  ],
  [
    'a test fails on the Node at hand alone',
    { FLOOR: '6 passed, 1 failed', FLOOR_CODE: '1' },
    '11 passed, 1 failed',
  ],
  ['the linter, knip or the compiler complains', { CHECK: '1' }, '12 passed, 1 failed'],
  [
    'a run breaks off before its counts',
    { NEWEST: 'Killed', NEWEST_CODE: '137' },
    '7 passed, 1 failed',
  ],
  ['a run ends without its counts, as if all were well', { NEWEST: 'well' }, '7 passed, 1 failed'],
  ['no test failed, but one did not run', { FLOOR_CODE: '1' }, '12 passed, 1 failed'],
])('it fails when %s', (_, env, last) => {
  const { status, said } = run(env)
  expect([status, said.at(-1)]).toEqual([1, last])
})

test('the failed tests of all runs are named once more before the last line', () => {
  const { said } = run({
    FLOOR: 'failed: a.test.ts > it adds\nfailed: b.test.ts > it > takes away\n6 passed, 2 failed',
    FLOOR_CODE: '1',
    NEWEST: 'failed: a.test.ts > it adds\n5 passed, 1 failed',
    NEWEST_CODE: '1',
  })
  expect(said.slice(-4)).toEqual([
    'failed: a.test.ts > it adds',
    'failed: b.test.ts > it > takes away',
    'failed: a.test.ts > it adds',
    '11 passed, 3 failed',
  ])
})
