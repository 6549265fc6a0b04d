// Finds the Temporal CLI, which holds a development server; builds it when it is nowhere.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { isAlive, lastLines, startChild } from './processes.ts'

const CLI_VERSION = '1.5.1'
const MODULE = `github.com/temporalio/cli/cmd/temporal@v${CLI_VERSION}`
const BUILD_WAIT_MS = 30 * 60_000
const DOWNLOAD_WAIT_MS = 180_000
/** Without a network the download neither ends nor fails: it has this long to write its first bytes. */
const DOWNLOAD_QUIET_MS = 20_000
const PROGRESS_MS = 10_000
/** The end of an error message says most. */
const DETAIL_CHARS = 160
const EXE = process.platform === 'win32' ? '.exe' : ''

type Env = Record<string, string | undefined>
type Log = (line: string) => void

/** The folder of the user's caches that is ours; `DRIPLINE_CACHE` names another one. */
export function cacheFolder(env: Env): string {
  if (env['DRIPLINE_CACHE']) return env['DRIPLINE_CACHE']
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'dripline')
  const local = process.platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_CACHE_HOME']
  return join(local || join(homedir(), '.cache'), 'dripline')
}

/**
 * The path of a Temporal CLI that runs: `TEMPORAL_CLI_PATH`, then `temporal` on PATH, then our cache, then the
 * SDK's cached download, then a build with Go into our cache.
 * @throws Error that lists all ways to a server when none of them works
 */
export async function findTemporalCli(env: Env, log: Log): Promise<string> {
  const given = env['TEMPORAL_CLI_PATH']
  if (given) {
    if (runs(given)) return given
    throw new Error(`TEMPORAL_CLI_PATH is ${given}, which is not a Temporal CLI that runs`)
  }
  const cached = join(cacheFolder(env), `temporal-cli-${CLI_VERSION}`, `temporal${EXE}`)
  const ready = [...onPath(env), cached, sdkFile(tmpdir()), sdkFile(sdkFolder(env))].find(runs)
  if (ready) return ready
  const faults: string[] = []
  for (const [name, get] of [
    ['download by the Temporal SDK', () => download(env, log)],
    ['build with Go', () => build(cached, env, log)],
  ] as const) {
    try {
      const path = await get()
      if (runs(path)) return path
      faults.push(`${name}: ${path} does not run`)
    } catch (err) {
      faults.push(`${name}: ${err instanceof Error ? err.message : String(err)}`)
    }
    log(faults.at(-1) ?? '')
  }
  throw new Error(notFound(faults))
}

function notFound(faults: string[]): string {
  return [
    'No Temporal server was found. One of these gives one:',
    '  1. TEMPORAL_ADDRESS=host:7233, a server that runs already',
    '  2. TEMPORAL_CLI_PATH=/path/to/temporal, or the Temporal CLI on PATH',
    `  3. the Temporal CLI copied to the cache: temporal-cli-${CLI_VERSION}/temporal in ~/.cache/dripline (DRIPLINE_CACHE)`,
    '  4. a network from which the Temporal SDK can download its development server',
    `  5. Go 1.24 or newer, to build it: go install ${MODULE}`,
    'Tried just now:',
    ...faults.map((fault) => `  ${fault.replaceAll('\n', '\n    ')}`),
  ].join('\n')
}

function onPath(env: Env): string[] {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, `temporal${EXE}`))
}

function runs(path: string): boolean {
  if (!existsSync(path)) return false
  const { status, stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 20_000 })
  return status === 0 && /temporal version/i.test(stdout)
}

function sdkFolder(env: Env): string {
  return join(cacheFolder(env), 'sdk')
}

/** The name under which the SDK keeps its download. */
function sdkFile(folder: string): string {
  const { version } = createRequire(import.meta.url)('@temporalio/testing/package.json') as {
    version: string
  }
  return join(folder, `temporal-sdk-typescript-${version}${EXE}`)
}

const DOWNLOAD_SCRIPT = `
  const { TestWorkflowEnvironment } = require('@temporalio/testing')
  const executable = { type: 'cached-download', downloadDir: process.argv[1] }
  TestWorkflowEnvironment.createLocal({ server: { executable, ui: false } })
    .then((server) => server.teardown())
    .then(() => process.exit(0), (err) => { console.error(err.message); process.exit(1) })
`

/** Lets the SDK download its server, in a child of its own: it has no time limit itself. */
async function download(env: Env, log: Log): Promise<string> {
  const folder = sdkFolder(env)
  // What a killed download left would make the next one wait for it.
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  log('downloading a Temporal development server')
  const logFile = join(folder, 'download.log')
  const args = ['-e', DOWNLOAD_SCRIPT, folder]
  const cwd = dirname(import.meta.dirname)
  const child = await startChild({
    name: 'download',
    command: process.execPath,
    args,
    logFile,
    cwd,
  })
  const stop = setTimeout(() => void child.kill(), DOWNLOAD_WAIT_MS)
  const quiet = setTimeout(() => {
    const bytes = readdirSync(folder).map((name) => statSync(join(folder, name)).size)
    if (Math.max(...bytes) === 0) void child.kill()
  }, DOWNLOAD_QUIET_MS)
  const { code } = await child.exited
  clearTimeout(stop)
  clearTimeout(quiet)
  if (code !== 0) throw new Error(lastLines(logFile, 1).slice(-DETAIL_CHARS) || 'no answer in time')
  return sdkFile(folder)
}

/** What builds left that were killed. */
function removeUnfinished(folder: string): void {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    const pid = Number(/\.build-(\d+)/.exec(name)?.[1])
    if (pid > 0 && !isAlive(pid)) rmSync(join(folder, name), { recursive: true, force: true })
  }
}

/** Builds the CLI with Go, which fetches the sources by itself, and keeps the binary in the cache. */
async function build(target: string, env: Env, log: Log): Promise<string> {
  const go = spawnSync('go', ['version'], { encoding: 'utf8', env })
  if (go.status !== 0) throw new Error('Go is not installed')
  removeUnfinished(dirname(dirname(target)))
  const folder = `${dirname(target)}.build-${process.pid}`
  mkdirSync(folder, { recursive: true })
  const logFile = `${folder}.log`
  rmSync(logFile, { force: true })
  const begin = Date.now()
  log(
    `building the Temporal CLI ${CLI_VERSION} with ${go.stdout.trim()}: once, about three minutes`,
  )
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - begin) / 1000)
    const now = lastLines(logFile, 1).slice(0, 60)
    log(`building the Temporal CLI, ${seconds} s${now && `: ${now}`}`)
  }, PROGRESS_MS)
  try {
    const child = await startChild({
      name: 'go install',
      command: 'go',
      args: ['install', '-v', MODULE],
      logFile,
      cwd: folder,
      env: { ...env, GOBIN: folder, GOFLAGS: '', GOWORK: 'off' },
    })
    const stop = setTimeout(() => void child.kill(), BUILD_WAIT_MS)
    const { code } = await child.exited
    clearTimeout(stop)
    if (code !== 0) throw new Error(`go install failed:\n${lastLines(logFile, 5)}`)
    mkdirSync(dirname(target), { recursive: true })
    // A rename: two builds at a time end with one whole binary.
    renameSync(join(folder, `temporal${EXE}`), target)
    log(`built in ${Math.round((Date.now() - begin) / 1000)} s, kept as ${target}`)
    rmSync(logFile, { force: true })
    return target
  } finally {
    clearInterval(timer)
    rmSync(folder, { recursive: true, force: true })
  }
}
