// Brings node_modules to the lock file; plain Node, it runs before anything is installed.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
// Whole, since a Node that is too old lacks some of it and has to get as far as saying so.
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createConsole, showing } from './console.mjs'

export { checkNode } from './machine.mjs'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const LOCK_WAIT_MS = 20 * 60_000
const LOCK_POLL_MS = 500
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
/** What node_modules takes: 590 MB, and what npm keeps beside it meanwhile. */
const DISK_MB = 900
const stamp = join(root, 'node_modules', '.dripline-lock')

/** Runs `npm ci` when node_modules is absent or is not what package-lock.json says. */
export async function ensureInstalled() {
  if (isInstalled()) return
  const release = await takeLock()
  try {
    // Another start may have installed while we waited.
    if (!isInstalled()) await runNpmCi()
    fs.writeFileSync(stamp, lockHash())
  } finally {
    release()
  }
}

function lockHash() {
  return createHash('sha256')
    .update(fs.readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
}

function isInstalled() {
  if (readText(stamp) === lockHash()) return true
  const hidden = readText(join(root, 'node_modules', '.package-lock.json'))
  if (hidden === '') return false
  const present = JSON.parse(hidden).packages
  const wanted = JSON.parse(readText(join(root, 'package-lock.json'))).packages
  const same = Object.entries(wanted).every(([path, { version, optional }]) =>
    path === '' || (optional && !present[path]) ? true : present[path]?.version === version,
  )
  return same && Object.keys(present).every((path) => wanted[path])
}

function readText(file) {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** `npm start` and `npm test` of a fresh clone may run at a time: one installs, the other waits. */
async function takeLock() {
  const file = join(root, '.data', 'install.lock')
  if (tryLock(file)) return () => fs.rmSync(file, { force: true })
  const part = createConsole().part('packages')
  part.say('another start is installing the packages (npm ci); this one waits for it')
  const describe = (seconds) => `waiting for the npm ci of another start, ${seconds} s`
  return showing(part, describe, waitForLock(file))
}

async function waitForLock(file) {
  const deadline = Date.now() + LOCK_WAIT_MS
  while (!tryLock(file)) {
    if (Date.now() > deadline) fs.rmSync(file, { force: true })
    else await pause(LOCK_POLL_MS)
  }
  return () => fs.rmSync(file, { force: true })
}

/** Takes the lock, also from a process that is gone. @returns false if a running process has it */
function tryLock(file) {
  const draft = `${file}.${process.pid}`
  try {
    fs.mkdirSync(dirname(file), { recursive: true })
    const holder = readText(file)
    if (holder !== '' && !isRunning(Number(holder))) fs.rmSync(file, { force: true })
    // Linked, so that nobody reads a lock that has no process in it yet.
    fs.writeFileSync(draft, String(process.pid))
    fs.linkSync(draft, file)
    return true
  } catch (err) {
    if (err.code === 'EEXIST') return false
    refuse(`${root} cannot be written (${err.code}): make it yours, or clone into another folder.`)
  } finally {
    fs.rmSync(draft, { force: true })
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0)
    return pid > 0
  } catch (err) {
    return err.code === 'EPERM'
  }
}

/** Without install scripts: nothing here needs them (dev/servers/postgresBinaries.ts makes its own links). */
async function runNpmCi() {
  checkDisk()
  const begin = Date.now()
  const part = createConsole().part('packages')
  part.say('installing packages (npm ci), about half a minute')
  const args = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund']
  // Our own line says how far it is; of what npm says only errors matter here.
  args.push('--no-progress', '--loglevel=error')
  const npm = process.env.npm_execpath
  const command = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm']
  const done = run(command[0], [...command.slice(1), ...args]).catch((err) => {
    process.stderr.write(`${err.message}\n`)
    return 1
  })
  const packages = wantedPackages()
  const code = await showing(part, (seconds) => installed(packages, seconds), done)
  if (code !== 0) {
    refuse(
      'npm ci failed, for the reason above. Without a network the packages cannot come: ' +
        'see that there is one, then start again.',
    )
  }
  part.say(`installed in ${Math.round((Date.now() - begin) / 1000)} s`)
}

/** The folders of all packages that every system needs. */
function wantedPackages() {
  const { packages } = JSON.parse(readText(join(root, 'package-lock.json')))
  return Object.keys(packages).filter((path) => path !== '' && !packages[path].optional)
}

function installed(packages, seconds) {
  const there = packages.filter((path) => fs.existsSync(join(root, path, 'package.json'))).length
  return `npm ci, ${there} of ${packages.length} packages, ${seconds} s`
}

/** A disk that fills up half-way would leave npm's own words, which name another reason. */
function checkDisk() {
  const { bavail, bsize } = fs.statfsSync(root)
  const free_mb = Math.floor((bavail * bsize) / 2 ** 20)
  const modules = join(root, 'node_modules')
  // What is there already will be replaced.
  if (free_mb >= DISK_MB || (fs.existsSync(modules) && fs.statSync(modules).isDirectory())) return
  refuse(
    `The packages need ${DISK_MB} MB of disk, and ${root} has ${free_mb} MB free: make room there, or clone to another disk.`,
  )
}

function refuse(sentence) {
  process.stderr.write(`\n${sentence}\n`)
  process.exit(1)
}

/**
 * Runs a command in the project's folder with our own input and output; signals that ask us to stop are
 * passed on. @returns its exit code, 1 when a signal ended it
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: 'inherit',
      shell: process.platform === 'win32',
      ...options,
    })
    const forward = (signal) => child.kill(signal)
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const signal of signals) process.on(signal, forward)
    child.once('error', reject)
    child.once('exit', (code) => {
      for (const signal of signals) process.off(signal, forward)
      resolve(code ?? 1)
    })
  })
}
