#!/usr/bin/env node
// Finds the mail client swaks for the tests, or unpacks Debian's into the cache folder; prints where it is, as JSON.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

const APT_WAIT_MS = 180_000

const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
const cache =
  process.env['DRIPLINE_CACHE'] ||
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'dripline')
const unpacked = join(cache, 'swaks')
const inFolder = join(unpacked, 'usr', 'bin', 'swaks')

try {
  const onSystem = folders.map((folder) => join(folder, 'swaks')).find(runs)
  if (!onSystem && !runs(inFolder)) unpack()
  const swaks = onSystem ?? inFolder
  if (!runs(swaks)) throw new Error('it was unpacked, but does not run: is perl there?')
  process.stdout.write(`${JSON.stringify({ swaks })}\n`)
} catch (err) {
  process.stderr.write(
    `The tests need the mail client swaks: ${err.message}\n` +
      'Install it (Debian: apt-get install swaks, macOS: brew install swaks) and start again.\n',
  )
  process.exitCode = 1
}

function runs(swaks) {
  return existsSync(swaks) && spawnSync('perl', [swaks, '--version']).status === 0
}

/** Downloads the package, a perl script, and unpacks it. Nothing is installed. */
function unpack() {
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'swaks-new-'))
  try {
    process.stderr.write('Downloading swaks for the tests.\n')
    if (!apt(folder, ['download', '-qq', 'swaks']).isDone) {
      demand(apt(folder, ['update', '-qq']))
      demand(apt(folder, ['download', '-qq', 'swaks']))
    }
    const file = readdirSync(folder).find((name) => name.endsWith('.deb')) ?? ''
    const done = spawnSync('dpkg', ['-x', file, 'root'], { cwd: folder, encoding: 'utf8' })
    if (done.status !== 0) throw new Error(`dpkg: ${done.stderr ?? done.error}`)
    if (runs(inFolder)) return
    rmSync(unpacked, { recursive: true, force: true })
    renameSync(join(folder, 'root'), unpacked)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function apt(cwd, args) {
  // apt's own account may not enter our cache folder.
  const options = ['-o', 'APT::Sandbox::User=root', ...args]
  const done = spawnSync('apt-get', options, { cwd, encoding: 'utf8', timeout: APT_WAIT_MS })
  return { isDone: done.status === 0, text: `apt-get ${args[0]}: ${done.stderr ?? done.error}` }
}

function demand({ isDone, text }) {
  if (!isDone) throw new Error(text)
}
