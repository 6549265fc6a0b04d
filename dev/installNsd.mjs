#!/usr/bin/env node
// Finds the name server nsd for the tests, or unpacks Debian's into the cache folder; prints where it is, as JSON.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

const APT_WAIT_MS = 180_000
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin', '/opt/homebrew/bin']

const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_FOLDERS]
const cache =
  process.env['DRIPLINE_CACHE'] ||
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'dripline')
const unpacked = join(cache, 'nsd')

try {
  const present = folders.filter(Boolean).map((folder) => join(folder, 'nsd'))
  const onSystem = present.map((nsd) => ({ nsd, libraries: '' })).find(runs)
  if (!onSystem && !ready()) unpack()
  const found = onSystem ?? ready()
  if (!found) throw new Error('it was unpacked, but does not run')
  process.stdout.write(`${JSON.stringify(found)}\n`)
} catch (err) {
  process.stderr.write(
    `The tests need the name server nsd: ${err.message}\n` +
      'Install it (Debian: apt-get install nsd, macOS: brew install nsd) and start again.\n',
  )
  process.exitCode = 1
}

/** The unpacked one, when it is there and runs. */
function ready() {
  return [inFolder(unpacked)].find(runs)
}

/** Where nsd is in an unpacked package, and the folders that its libraries may be in. */
function inFolder(root) {
  const lib = join(root, 'usr', 'lib')
  const triplets = existsSync(lib) ? readdirSync(lib).map((name) => join(lib, name)) : []
  return { nsd: join(root, 'usr', 'sbin', 'nsd'), libraries: triplets.join(delimiter) }
}

function runs({ nsd, libraries }) {
  const env = libraries ? { ...process.env, LD_LIBRARY_PATH: libraries } : process.env
  return existsSync(nsd) && spawnSync(nsd, ['-v'], { env }).status === 0
}

/** Downloads nsd and those of its libraries that this machine lacks. Nothing is installed: no daemon starts. */
function unpack() {
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'nsd-new-'))
  try {
    let packages = missing()
    if (packages.length === 0) {
      apt(folder, ['update', '-qq'])
      packages = missing()
    }
    if (packages.length === 0) throw new Error('apt knows no package nsd')
    process.stderr.write(`Downloading ${packages.join(', ')} for the tests.\n`)
    apt(folder, ['download', '-qq', ...packages])
    const files = readdirSync(folder).filter((name) => name.endsWith('.deb'))
    for (const file of files) {
      const done = spawnSync('dpkg', ['-x', file, 'root'], { cwd: folder, encoding: 'utf8' })
      if (done.status !== 0) throw new Error(`dpkg: ${done.stderr ?? done.error}`)
    }
    // Two test files may do this at once: the first one's stays, it may be running already.
    if (ready()) return
    rmSync(unpacked, { recursive: true, force: true })
    renameSync(join(folder, 'root'), unpacked)
  } catch (err) {
    if (!ready()) throw err
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What an installation of nsd would add to this machine. */
function missing() {
  const args = ['install', '--simulate', '--no-install-recommends', 'nsd']
  const { stdout } = spawnSync('apt-get', args, { encoding: 'utf8', timeout: APT_WAIT_MS })
  return [...(stdout ?? '').matchAll(/^Inst (\S+)/gm)].map(([, name]) => name)
}

function apt(cwd, args) {
  // apt's own account may not enter our cache folder.
  const options = ['-o', 'APT::Sandbox::User=root', ...args]
  const done = spawnSync('apt-get', options, { cwd, encoding: 'utf8', timeout: APT_WAIT_MS })
  if (done.status !== 0) throw new Error(`apt-get ${args[0]}: ${done.stderr ?? done.error}`)
}
