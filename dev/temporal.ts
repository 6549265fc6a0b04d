// Runs Temporal's development server as a child and makes it ready for the service.
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Connection } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time.js'
import { prepareTemporal } from '../runtime/temporal.ts'
import { isListening } from './ports.ts'
import { type Child, lastLines, startChild } from './processes.ts'

const START_WAIT_MS = 60_000
const STOP_WAIT_MS = 10_000
const POLL_MS = 30
const DAY_MS = 86_400_000

/** The list operations stand on visibility; ten calls a second would not carry them. */
const raisedLimits = { 'frontend.namespaceRPS.visibility': 10_000, 'frontend.namespaceRPS': 10_000 }

export interface TemporalOptions {
  /** Path of the Temporal CLI, from findTemporalCli. */
  cli: string
  /** The SQLite file; absent: in memory, gone with the process. */
  dbFile?: string
  port: number
  /** Absent: no Web UI. */
  uiPort?: number
  logFile: string
  /** How long closed runs are kept, in days. */
  retention_days: number
  /** Further settings of the server, by their dynamic config keys. */
  dynamicConfig?: Record<string, string | number>
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
 * Starts `temporal server start-dev` and waits until its namespace `default` answers, keeps closed runs
 * for `retention_days` and has our search attributes.
 * @throws Error with the last lines of the server's log when it does not come up
 */
export async function startTemporal(options: TemporalOptions): Promise<Temporal> {
  const address = `127.0.0.1:${options.port}`
  let child = await launch(options, address)
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
  const deadline = Date.now() + START_WAIT_MS
  let fault = 'nobody listens'
  while (child.alive() && Date.now() < deadline) {
    // A gRPC client that was refused waits a second: it comes when somebody listens.
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
  await child.kill()
  throw new Error(
    `Temporal did not start on ${address}: ${fault}\n${lastLines(options.logFile)}${
      options.dbFile && existsSync(options.dbFile) ? `\nIts data: ${options.dbFile}` : ''
    }`,
  )
}

/** A development server drops closed runs after a day. */
async function keepClosedRuns(address: string, namespace: string, days: number): Promise<void> {
  await withConnection(address, ({ workflowService }) =>
    workflowService.updateNamespace({
      namespace,
      config: { workflowExecutionRetentionTtl: duration(days) },
    }),
  )
}

/** Registers a namespace of its own, ready to use. Usable after some 30 ms. */
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
