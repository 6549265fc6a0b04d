#!/usr/bin/env node
// Unpacks Debian's smtp-source and smtp-sink for the benchmark into the cache folder; prints where they are, as JSON.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

const APT_WAIT_MS = 180_000
const cache =
  process.env['DRIPLINE_CACHE'] ||
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'dripline')
const unpacked = join(cache, 'postfix')

try {
  const onSystem = { source: '/usr/sbin/smtp-source', sink: '/usr/sbin/smtp-sink', libraries: '' }
  if (!runs(onSystem) && !runs(inFolder(unpacked))) unpack()
  const found = [onSystem, inFolder(unpacked)].find(runs)
  if (!found) throw new Error('they were unpacked, but do not run')
  process.stdout.write(`${JSON.stringify(found)}\n`)
} catch (err) {
  process.stderr.write(
    `The benchmark needs smtp-source and smtp-sink of Postfix: ${err.message}\n` +
      'Install them (Debian: apt-get install postfix) and start again.\n',
  )
  process.exitCode = 1
}

/** Where the tools are in an unpacked package, and the folders that their libraries may be in. */
function inFolder(root) {
  const lib = join(root, 'usr', 'lib')
  const folders = existsSync(lib) ? readdirSync(lib).map((name) => join(lib, name)) : []
  const sbin = join(root, 'usr', 'sbin')
  return {
    source: join(sbin, 'smtp-source'),
    sink: join(sbin, 'smtp-sink'),
    libraries: folders.join(delimiter),
  }
}

/** Without arguments they say how they are used; what lacks a library says nothing of that. */
function runs({ source, sink, libraries }) {
  const env = libraries ? { ...process.env, LD_LIBRARY_PATH: libraries } : process.env
  return [source, sink].every((tool) => {
    if (!existsSync(tool)) return false
    const { stderr } = spawnSync(tool, [], { env, encoding: 'utf8' })
    return /usage:/.test(stderr ?? '')
  })
}

/** Downloads postfix and those of its libraries that this machine lacks. Nothing is installed: no daemon starts. */
function unpack() {
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'postfix-new-'))
  try {
    let packages = missing()
    if (packages.length === 0) {
      apt(folder, ['update', '-qq'])
      packages = missing()
    }
    if (packages.length === 0) throw new Error('apt knows no package postfix')
    process.stderr.write(`Downloading ${packages.join(', ')} for the benchmark.\n`)
    apt(folder, ['download', '-qq', ...packages])
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
      const done = spawnSync('dpkg', ['-x', file, 'root'], { cwd: folder, encoding: 'utf8' })
      if (done.status !== 0) throw new Error(`dpkg: ${done.stderr ?? done.error}`)
    }
    rmSync(unpacked, { recursive: true, force: true })
    renameSync(join(folder, 'root'), unpacked)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What an installation of postfix would add to this machine. */
function missing() {
  const args = ['install', '--simulate', '--no-install-recommends', 'postfix']
  const { stdout } = spawnSync('apt-get', args, { encoding: 'utf8', timeout: APT_WAIT_MS })
  return [...(stdout ?? '').matchAll(/^Inst (\S+)/gm)].map(([, name]) => name)
}

function apt(cwd, args) {
  // apt's own account may not enter our cache folder.
  const options = ['-o', 'APT::Sandbox::User=root', ...args]
  const done = spawnSync('apt-get', options, { cwd, encoding: 'utf8', timeout: APT_WAIT_MS })
  if (done.status !== 0) throw new Error(`apt-get ${args[0]}: ${done.stderr ?? done.error}`)
}
