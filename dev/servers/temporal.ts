// Runs Temporal's development server as a child and makes it ready for the service.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time.js'
import { prepareTemporal } from '../../runtime/temporal.ts'
import { endOf } from '../processes/endOf.ts'
import { isListening } from '../processes/ports.ts'
import { type Child, startChild } from '../processes/processes.ts'

const START_WAIT_MS = 60_000
const STOP_WAIT_MS = 10_000
const POLL_MS = 30
const DAY_MS = 86_400_000

/** Raised, because the list operations need visibility more often than the default of ten calls a second. */
const raisedLimits = { 'frontend.namespaceRPS.visibility': 10_000, 'frontend.namespaceRPS': 10_000 }

export interface TemporalOptions {
  /** Path of the Temporal CLI, from findTemporalCli. */
  cli: string
  /** The SQLite file; absent: the data is only in memory. */
  dbFile?: string
  port: number
  /** Absent: no Web UI. */
  uiPort?: number
  logFile: string
  /** How many days closed runs are kept. */
  retention_days: number
  /** Further settings of the server, by their dynamic config keys. */
  dynamicConfig?: Record<string, string | number>
  /** Called with each process as soon as it runs, before it is ready. */
  onSpawn?: (child: Child) => void
}

export interface Temporal {
  /** host:port of the frontend */
  address: string
  /** "" without a Web UI */
  uiUrl: string
  pid: number
  child: Child
  stop(): Promise<void>
  kill(): Promise<void>
  /** Starts it again on the same port and file. */
  restart(): Promise<void>
}

/**
 * Starts `temporal server start-dev` and waits until its namespace `default` answers, has the retention
 * `retention_days` and the search attributes.
 * @throws Error with the last lines of the server's log if it does not start
 */
export async function startTemporal(options: TemporalOptions): Promise<Temporal> {
  const address = `127.0.0.1:${options.port}`
  let child = await launchFirst(options, address)
  return {
    address,
    uiUrl: options.uiPort === undefined ? '' : `http://127.0.0.1:${options.uiPort}`,
    get pid() {
      return child.pid
    },
    get child() {
      return child
    },
    stop: () => child.stop({ signals: ['SIGTERM'], wait_ms: STOP_WAIT_MS }),
    kill: () => child.kill(),
    async restart() {
      child = await launch(options, address)
    },
  }
}

/**
 * Launches it, on a new file if there is none. A server that ends while it makes its tables leaves a file that no
 * server can open, so a second file marks one that was never ready; it holds nothing and is made anew.
 */
async function launchFirst(options: TemporalOptions, address: string): Promise<Child> {
  const { dbFile } = options
  if (dbFile === undefined) return launch(options, address)
  const mark = `${dbFile}.unfinished`
  if (existsSync(dbFile) && !existsSync(mark)) return launch(options, address)
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${dbFile}${end}`, { force: true })
  writeFileSync(mark, '')
  const child = await launch(options, address)
  rmSync(mark)
  return child
}

async function launch(options: TemporalOptions, address: string): Promise<Child> {
  const child = await startChild({
    name: 'Temporal',
    command: options.cli,
    args: [
      'server',
      'start-dev',
      '--ip',
      '127.0.0.1',
      '--port',
      String(options.port),
      '--log-level',
      'warn',
      '--disable-config-file',
      ...(options.uiPort === undefined ? ['--headless'] : ['--ui-port', String(options.uiPort)]),
      ...(options.dbFile === undefined ? [] : ['--db-filename', options.dbFile]),
      ...Object.entries({ ...raisedLimits, ...options.dynamicConfig }).flatMap(([key, value]) => [
        '--dynamic-config-value',
        `${key}=${value}`,
      ]),
    ],
    logFile: options.logFile,
  })
  options.onSpawn?.(child)
  const deadline = Date.now() + START_WAIT_MS
  let fault = 'nobody listens'
  while (child.alive() && Date.now() < deadline) {
    // A refused gRPC client waits a second, so connect only when the port is open.
    if (!(await isListening(options.port))) {
      await pause(POLL_MS)
      continue
    }
    try {
      await keepClosedRuns(address, 'default', options.retention_days)
      await prepareTemporal(address, 'default')
      return child
    } catch (err) {
      fault = err instanceof Error ? err.message : String(err)
      await pause(POLL_MS)
    }
  }
  const exit = child.alive() ? undefined : await child.exited
  await child.kill()
  const data = options.dbFile && existsSync(options.dbFile) ? `\n  Its data: ${options.dbFile}` : ''
  throw new Error(`${endOf(child, exit)}${data}${exit ? '' : `\n  On ${address}: ${fault}`}`)
}

/** Sets how long closed runs are kept; the default of a development server is a day. */
async function keepClosedRuns(address: string, namespace: string, days: number): Promise<void> {
  await withConnection(address, ({ workflowService }) =>
    workflowService.updateNamespace({
      namespace,
      config: { workflowExecutionRetentionTtl: duration(days) },
    }),
  )
}

/** Registers a namespace and waits until it can be used (about 30 ms). */
export async function createNamespace(address: string, namespace: string): Promise<void> {
  await withConnection(address, ({ workflowService }) =>
    workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: duration(1),
    }),
  )
  await prepareTemporal(address, namespace)
}

function duration(days: number) {
  return msToTs(days * DAY_MS)
}

async function withConnection(
  address: string,
  act: (connection: Connection) => Promise<unknown>,
): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 2_000 })
  try {
    await act(connection)
  } finally {
    await connection.close()
  }
}
