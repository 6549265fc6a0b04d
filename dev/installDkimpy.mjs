#!/usr/bin/env node
// Finds the DKIM verifier dkimpy for the tests, or has pip put it into the cache folder; prints where it is, as JSON.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const PACKAGES = ['dkimpy==1.1.8', 'pynacl==1.6.2']
const PIP_WAIT_MS = 180_000
const PYTHON = process.env['PYTHON'] || 'python3'

const cache =
  process.env['DRIPLINE_CACHE'] ||
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'dripline')
const folder = join(cache, PACKAGES[0].replace('==', '-'))

try {
  if (spawnSync(PYTHON, ['--version']).status !== 0) throw new Error(`there is no ${PYTHON}`)
  if (!runs(folder)) install()
  process.stdout.write(`${JSON.stringify({ python: PYTHON, path: folder })}\n`)
} catch (err) {
  process.stderr.write(
    `The tests need Python 3 with pip, for the DKIM verifier dkimpy: ${err.message}\n` +
      'Install them (Debian: apt-get install python3-pip) and start again.\n',
  )
  process.exitCode = 1
}

function runs(path) {
  const env = { ...process.env, PYTHONPATH: path }
  return existsSync(path) && spawnSync(PYTHON, ['-c', 'import dkim, nacl'], { env }).status === 0
}

/** Beside the cache's own folder first: two test files may do this at once, and the first one's stays. */
function install() {
  mkdirSync(cache, { recursive: true })
  const fresh = mkdtempSync(join(cache, 'dkimpy-new-'))
  try {
    process.stderr.write(`Installing ${PACKAGES.join(', ')} for the tests.\n`)
    const args = ['-m', 'pip', 'install', '--quiet', '--target', fresh, ...PACKAGES]
    const done = spawnSync(PYTHON, args, { encoding: 'utf8', timeout: PIP_WAIT_MS })
    if (done.status !== 0) throw new Error(`pip: ${done.stderr || done.error}`)
    if (!runs(fresh)) throw new Error('it was installed, but does not run')
    if (runs(folder)) return
    rmSync(folder, { recursive: true, force: true })
    renameSync(fresh, folder)
  } catch (err) {
    if (!runs(folder)) throw err
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}
