// dev/installNode.mjs with an npm of the test: what it asks for, what it keeps, and what it says when that fails.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const SCRIPT = join(import.meta.dirname, '../../../dev/installNode.mjs')
const lines = ['22', '24', '26']
const own = process.version.split('.')[0]?.slice(1) ?? ''
/** A line that is not the one of the Node that runs this. */
const line = lines.find((one) => one !== own) ?? ''

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dripline-node-'))
  // npm, for run by npm_execpath: installs a program that says it is the Node that was asked for.
  writeFileSync(
    join(folder, 'npm.js'),
    `const fs = require('node:fs')
     const args = process.argv.slice(2)
     fs.appendFileSync(process.env.ASKED, args.at(-1) + '\\n')
     if (process.env.NPM_FAILS) { console.error('no network'); process.exit(1) }
     const [name, range] = args.at(-1).split('@')
     const bin = args[args.indexOf('--prefix') + 1] + '/node_modules/' + name + '/bin'
     fs.mkdirSync(bin, { recursive: true })
     const says = process.env.SAYS ?? 'v' + range.split('<=')[1]
     fs.writeFileSync(bin + '/node', '#!/bin/sh\\necho ' + says + '\\n', { mode: 0o755 })`,
  )
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function install(wanted: string, env: Record<string, string> = {}) {
  const cache = join(folder, 'cache')
  const asked = join(folder, 'asked')
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, wanted], {
    encoding: 'utf8',
    env: {
      PATH: process.env['PATH'] ?? '',
      npm_execpath: join(folder, 'npm.js'),
      DRIPLINE_CACHE: cache,
      ASKED: asked,
      ...env,
    },
  })
  const requests = existsSync(asked) ? readFileSync(asked, 'utf8').trimEnd().split('\n') : []
  const kept = existsSync(cache) ? readdirSync(cache) : []
  return { status, path: stdout.trimEnd(), stderr, requests, kept }
}

test('a release of the line is installed once, and only its program is kept', () => {
  const first = install(line)
  expect(first).toMatchObject({ status: 0, kept: [expect.stringMatching(`^node-${line}\\.`)] })
  expect(first.requests).toEqual([expect.stringMatching(`^node-.*@>=${line} <=${line}\\.`)])
  expect(readdirSync(join(folder, 'cache', first.kept[0] ?? ''))).toEqual(['node'])
  const version = spawnSync(first.path, ['--version'], { encoding: 'utf8' }).stdout
  expect(version).toMatch(new RegExp(`^v${line}\\.`))
  expect(install(line)).toMatchObject({ status: 0, path: first.path, requests: first.requests })
})

test('the Node that runs it is taken when it is of the line', () => {
  const expected = lines.includes(own) ? { status: 0, path: process.execPath } : { status: 2 }
  expect(install(own)).toMatchObject({ ...expected, requests: [] })
})

test.each([
  ['npm cannot install it', { NPM_FAILS: '1' }, 'npm: no network'],
  ['what came does not run', { SAYS: 'nothing' }, 'it was installed, but does not run'],
])('when %s, it says what to do and leaves nothing behind', (_, env, why) => {
  const failed = install(line, env)
  expect(failed).toMatchObject({ status: 1, path: '', kept: [] })
  expect(failed.stderr).toContain(`Node ${line} is needed: ${why}`)
  expect(failed.stderr).toContain('Install it, put it first on the PATH, and start again.')
})

test.each(['', '20', '99'])(
  'an unknown line, "%s", is answered with those that it knows',
  (wanted) => {
    expect(install(wanted)).toMatchObject({ status: 2, requests: [] })
    expect(install(wanted).stderr).toBe(`Usage: node dev/installNode.mjs ${lines.join('|')}\n`)
  },
)

test('the image and so the benchmarks have a line that it knows', () => {
  const root = join(import.meta.dirname, '../../..')
  const ofImage = /^FROM node:(\d+)-/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8'))?.[1]
  expect(lines).toContain(ofImage)
  expect(readFileSync(SCRIPT, 'utf8')).toContain(`${ofImage}: '${ofImage}.`)
})
