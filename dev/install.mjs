// Checks Node and brings node_modules to the lock file; plain Node, it runs before anything is installed.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const NODE_WANTED = [20, 19]
const PROGRESS_MS = 5_000
const LOCK_WAIT_MS = 20 * 60_000
const stamp = join(root, 'node_modules', '.dripline-lock')

/** Exits with a clear sentence when Node is too old to run any of this. */
export function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [wantedMajor, wantedMinor] = NODE_WANTED
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return
  process.stderr.write(
    `Dripline needs Node ${NODE_WANTED.join('.')} or newer; this is ${process.versions.node}.\n`,
  )
  process.exit(1)
}

/** Runs `npm ci` when node_modules is absent or is not what package-lock.json says. */
export async function ensureInstalled() {
  if (isInstalled()) return
  const release = await takeLock()
  try {
    // Another start may have installed while we waited.
    if (!isInstalled()) await runNpmCi()
    writeFileSync(stamp, lockHash())
  } finally {
    release()
  }
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
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
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** `npm start` and `npm test` of a fresh clone may run at a time: one installs, the other waits. */
async function takeLock() {
  const folder = join(root, '.data')
  const file = join(folder, 'install.lock')
  mkdirSync(folder, { recursive: true })
  const deadline = Date.now() + LOCK_WAIT_MS
  for (let said = false; ; said = true) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' })
      return () => rmSync(file, { force: true })
    } catch (err) {
      if (err.code !== 'EEXIST') throw err
    }
    if (!isRunning(Number(readText(file))) || Date.now() > deadline) rmSync(file, { force: true })
    else if (!said) process.stdout.write('Waiting for the npm ci of another start.\n')
    await pause(500)
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

/** Without install scripts: nothing here needs them (dev/postgresBinaries.ts makes its own links). */
async function runNpmCi() {
  process.stdout.write('Installing packages (npm ci), about half a minute.\n')
  const begin = Date.now()
  const seconds = () => Math.round((Date.now() - begin) / 1000)
  const timer = setInterval(() => process.stdout.write(`  npm ci, ${seconds()} s\n`), PROGRESS_MS)
  const args = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund']
  const npm = process.env.npm_execpath
  const code = await run(
    npm?.endsWith('.js') ? process.execPath : 'npm',
    npm?.endsWith('.js') ? [npm, ...args] : args,
  )
  clearInterval(timer)
  if (code !== 0) {
    process.stderr.write('npm ci failed: see its message above.\n')
    process.exit(1)
  }
  process.stdout.write(`Installed in ${seconds()} s.\n`)
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
