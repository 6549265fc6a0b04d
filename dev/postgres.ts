// Runs a Postgres 18 cluster of our own in a data directory: made when new, taken over after a crash.
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { findPostgres, type PostgresRunner } from './postgresBinaries.ts'
import { type Child, commandOf, isAlive, lastLines, startChild, waitGone } from './processes.ts'

const USER = 'dripline'
const START_WAIT_MS = 120_000
const STOP_WAIT_MS = 5_000

export interface PostgresOptions {
  dataDir: string
  port: number
  /** false: no fsync, for tests. A killed server still keeps what it committed; a power cut does not. */
  durable: boolean
  /** Hears what is being done, in words. */
  log: (line: string) => void
  /** Where the server logs; `<dataDir>.log` when absent. */
  logFile?: string
}

export interface Postgres {
  /** postgres://user:password@127.0.0.1:port/dripline */
  url: string
  pid: number
  child: Child
  /** Fast shutdown: open transactions are rolled back, nothing committed is lost. */
  stop(): Promise<void>
  /** SIGKILL to the server and all its backends. */
  kill(): Promise<void>
  /** Starts it again on the same port and data. */
  restart(): Promise<void>
}

/**
 * Starts Postgres in `dataDir`, making the cluster and a database `dripline` on the first run. A server
 * that an earlier, killed run left on this directory is stopped first.
 * @throws Error with the last lines of the server's log when it does not come up
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const dataDir = resolve(options.dataDir)
  const logFile = options.logFile ?? `${dataDir}.log`
  const runner = findPostgres(dataDir)
  await stopLeftover(dataDir, options.log)
  const password = await ensureCluster(dataDir, runner, options)
  const url = `postgres://${USER}:${password}@127.0.0.1:${options.port}/dripline`
  let child = await launch(dataDir, logFile, runner, options, url)
  await ensureDatabase(url)
  return {
    url,
    get pid() {
      return child.pid
    },
    get child() {
      return child
    },
    stop: () => child.stop({ signals: ['SIGINT', 'SIGQUIT'], wait_ms: STOP_WAIT_MS }),
    kill: () => child.kill(),
    async restart() {
      await stopLeftover(dataDir, options.log)
      child = await launch(dataDir, logFile, runner, options, url)
    },
  }
}

/** The server settings: `durable` decides whether commits reach the disk or only the system. */
function settings(port: number, durable: boolean): string[] {
  const values: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '128MB',
    timezone: 'UTC',
    log_timezone: 'UTC',
    max_wal_size: '1GB',
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
  }
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

async function ensureCluster(
  dataDir: string,
  runner: PostgresRunner,
  { durable, log }: PostgresOptions,
): Promise<string> {
  const passwordFile = `${dataDir}.password`
  if (existsSync(join(dataDir, 'PG_VERSION')) && existsSync(passwordFile)) {
    return readFileSync(passwordFile, 'utf8').trim()
  }
  // A first run that was killed half-way leaves a directory that initdb would refuse.
  const unfinished = `${dataDir}.new`
  rmSync(unfinished, { recursive: true, force: true })
  if (existsSync(join(dataDir, 'PG_VERSION'))) {
    throw new Error(`${dataDir} holds a cluster, but its password ${passwordFile} is missing`)
  }
  log('making a new cluster (initdb), a few seconds')
  mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  const password = randomBytes(18).toString('base64url')
  const given = join(dirname(dataDir), `.password-${process.pid}`)
  writeFileSync(given, `${password}\n`, { mode: 0o600 })
  if (runner.owner) {
    for (const path of [unfinished, given]) chownSync(path, runner.owner.uid, runner.owner.gid)
  }
  try {
    await initialise(unfinished, given, runner, durable)
    const { rename, writeFile } = await import('node:fs/promises')
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
    rmSync(dataDir, { recursive: true, force: true })
    await rename(unfinished, dataDir)
  } finally {
    rmSync(given, { force: true })
  }
  return password
}

async function initialise(
  dir: string,
  passwordFile: string,
  runner: PostgresRunner,
  durable: boolean,
) {
  const logFile = `${dir}.log`
  const [command = '', ...args] = [
    ...runner.prefix,
    runner.initdb,
    `--pgdata=${dir}`,
    `--username=${USER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ]
  const child = await startChild({
    name: 'initdb',
    command,
    args,
    logFile,
    ...processOptions(runner),
  })
  const { code } = await child.exited
  if (code !== 0) throw new Error(`initdb failed:\n${lastLines(logFile)}`)
  rmSync(logFile, { force: true })
}

/** The locale of the machine must not change messages or sorting; the folder must be one that it may enter. */
function processOptions(runner: PostgresRunner) {
  const env = { LC_ALL: 'C', LANG: 'C', TZ: 'UTC' }
  return { env, cwd: '/', ...(runner.user ?? {}) }
}

async function launch(
  dataDir: string,
  logFile: string,
  runner: PostgresRunner,
  { port, durable }: PostgresOptions,
  url: string,
): Promise<Child> {
  const [command = '', ...args] = [...runner.prefix, runner.postgres, '-D', dataDir]
  const deadline = Date.now() + START_WAIT_MS
  for (;;) {
    const child = await startChild({
      name: 'Postgres',
      command,
      args: [...args, ...settings(port, durable)],
      logFile,
      ...processOptions(runner),
    })
    if (await answers(child, url, deadline)) return child
    await child.stop({ signals: ['SIGINT'], wait_ms: STOP_WAIT_MS })
    const tail = lastLines(logFile)
    // Backends of a killed server hold its shared memory until they notice.
    const busy = /pre-existing shared memory block|lock file .* already exists/.test(tail)
    if (!busy || Date.now() > deadline - START_WAIT_MS + 15_000) {
      throw new Error(`Postgres did not start on port ${port}:\n${tail}`)
    }
    await pause(300)
  }
}

async function answers(child: Child, url: string, deadline: number): Promise<boolean> {
  const probe = url.replace(/\/dripline$/, '/postgres')
  while (child.alive() && Date.now() < deadline) {
    const client = new pg.Client({ connectionString: probe, connectionTimeoutMillis: 2_000 })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query('select 1')
      return true
    } catch {
      await pause(30)
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  return false
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url.replace(/\/dripline$/, '/postgres') })
  await client.connect()
  try {
    const found = await client.query(`select 1 from pg_database where datname = 'dripline'`)
    if (found.rowCount === 0) await client.query('create database dripline')
  } finally {
    await client.end()
  }
}

/** Stops the server that a killed run left on this directory, and removes a lock file that lies. */
async function stopLeftover(dataDir: string, log: (line: string) => void): Promise<void> {
  const lockFile = join(dataDir, 'postmaster.pid')
  if (!existsSync(lockFile)) return
  const pid = Number(readFileSync(lockFile, 'utf8').split('\n')[0])
  if (pid > 0 && isAlive(pid) && commandOf(pid).includes(dataDir)) {
    log(`stopping the server that an earlier run left (pid ${pid})`)
    for (const signal of ['SIGCONT', 'SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
      process.kill(pid, signal)
      if (signal !== 'SIGCONT' && (await waitGone(pid, STOP_WAIT_MS))) break
    }
  }
  rmSync(lockFile, { force: true })
}
