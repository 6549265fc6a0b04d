// Runs a Postgres 18 server on a data directory, which it makes if it is new and takes over after a crash.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { endOf } from '../processes/endOf.ts'
import {
  type Child,
  commandOf,
  isAlive,
  lastLines,
  startChild,
  waitGone,
} from '../processes/processes.ts'
import { findPostgres, type PostgresRunner } from './postgresBinaries.ts'
import { ensureCluster, processOptions, USER } from './postgresCluster.ts'

const START_WAIT_MS = 120_000
const STOP_WAIT_MS = 5_000
/** SQLSTATE invalid_password. */
const WRONG_PASSWORD = '28P01'

export interface PostgresOptions {
  dataDir: string
  port: number
  /** false: no fsync, for tests. Commits survive a killed server, but not a power failure. */
  durable: boolean
  /** How much of tables and indexes the server keeps in memory; 128MB if absent. */
  sharedBuffers?: string
  /** The variables that may name other programs (`POSTGRES_BIN_PATH`); absent: the package's are taken. */
  env?: Record<string, string | undefined>
  /** Called with progress messages. */
  log: (line: string) => void
  /** The server's log file; `<dataDir>.log` if absent. */
  logFile?: string
}

export interface Postgres {
  /** postgres://user:password@127.0.0.1:port/dripline */
  url: string
  pid: number
  child: Child
  /** Fast shutdown: open transactions are rolled back, commits are kept. */
  stop(): Promise<void>
  /** Sends SIGKILL to the server and all its backends. */
  kill(): Promise<void>
  /** Starts it again on the same port and data. */
  restart(): Promise<void>
}

/**
 * Starts Postgres in `dataDir`. The first run makes the cluster and a database `dripline`. A server that a killed
 * run left on this directory is stopped first.
 * @throws Error with the last lines of the server's log if it does not start
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const dataDir = resolve(options.dataDir)
  const logFile = options.logFile ?? `${dataDir}.log`
  const runner = findPostgres(dataDir, options.env)
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

/** The server settings. With `durable` commits are flushed to the disk. */
function settings({ port, durable, sharedBuffers = '128MB' }: PostgresOptions): string[] {
  const values: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: sharedBuffers,
    timezone: 'UTC',
    log_timezone: 'UTC',
    max_wal_size: '1GB',
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
  }
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

async function launch(
  dataDir: string,
  logFile: string,
  runner: PostgresRunner,
  options: PostgresOptions,
  url: string,
): Promise<Child> {
  const [command = '', ...args] = [...runner.prefix, runner.postgres, '-D', dataDir]
  const deadline = Date.now() + START_WAIT_MS
  for (;;) {
    const child = await startChild({
      name: 'Postgres',
      command,
      args: [...args, ...settings(options)],
      logFile,
      ...processOptions(runner),
    })
    if (await answers(child, url, deadline)) return child
    const exit = child.alive() ? undefined : await child.exited
    await child.stop({ signals: ['SIGINT'], wait_ms: STOP_WAIT_MS })
    const tail = lastLines(logFile)
    // Backends of a killed server hold its shared memory until they notice.
    const busy = /pre-existing shared memory block|lock file .* already exists/.test(tail)
    if (!busy || Date.now() > deadline - START_WAIT_MS + 15_000) {
      throw new Error(endOf(child, exit))
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
    } catch (err) {
      if ((err as { code?: string }).code === WRONG_PASSWORD) {
        await child.stop({ signals: ['SIGINT'], wait_ms: STOP_WAIT_MS })
        throw new Error(
          'Postgres refuses the password that stands beside its data folder: put the right postgres.password ' +
            'back, or move the data folder away for an empty start.',
        )
      }
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

/** Stops a server that a killed run left on this directory, and removes a stale lock file. */
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
