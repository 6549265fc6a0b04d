// The Temporal server of a benchmark: the real one on the benchmark's Postgres, or the development server in memory.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createConsole } from '../dev/console.mjs'
import { isListening, randomPort } from '../dev/processes/ports.ts'
import { lastLines, startChild } from '../dev/processes/processes.ts'
import type { Postgres } from '../dev/servers/postgres.ts'
import { startTemporal } from '../dev/servers/temporal.ts'
import { findTemporalCli } from '../dev/servers/temporalCli.ts'
import type { BenchOptions } from './report.ts'
import type { Servers } from './servers.ts'
import { findTemporalBinaries, SERVER_VERSION, type TemporalBinaries } from './temporalBinaries.ts'

const START_WAIT_MS = 60_000
const POLL_MS = 100
const HISTORY_SHARDS = 64

export interface BenchTemporal {
  address: string
  /** For the report. */
  description: string
}

/** Rate limits of the server, raised so that they do not limit the measurement. */
const DYNAMIC_CONFIG = [
  'frontend.namespaceRPS',
  'frontend.namespaceRPS.visibility',
  'frontend.rps',
  'matching.rps',
  'history.rps',
  'frontend.persistenceMaxQPS',
  'matching.persistenceMaxQPS',
  'history.persistenceMaxQPS',
]
  .map((key) => `${key}:\n  - value: 100000\n`)
  .join('')

/** The development server of the CLI, in memory; its limits are raised by dev/servers/temporal.ts. */
export async function startDevTemporal(
  servers: Servers,
  say: (line: string) => void,
): Promise<BenchTemporal> {
  const temporal = await startTemporal({
    cli: await findTemporalCli(process.env, partOf(say)),
    port: await randomPort(),
    logFile: servers.folder.log('temporal'),
    retention_days: 1,
  })
  servers.record(temporal.child, ['SIGTERM'])
  servers.add(() => temporal.stop())
  return { address: temporal.address, description: 'development server of the CLI, in memory' }
}

/** What finding the CLI says goes the way of all that a benchmark says. */
const partOf = (say: (line: string) => void) =>
  createConsole({ write: (text) => say(text.trimEnd()) }).part('temporal')

export async function startBenchTemporal(
  servers: Servers,
  postgres: Postgres,
  { temporal, say }: BenchOptions,
): Promise<BenchTemporal> {
  if (temporal === 'dev') return startDevTemporal(servers, say)
  const binaries = await findTemporalBinaries(process.env, say)
  await makeSchemas(binaries, postgres)
  const address = await startServer(servers, binaries, postgres)
  const shards = `${HISTORY_SHARDS} history shards`
  return { address, description: `server ${SERVER_VERSION} on the same Postgres, ${shards}` }
}

async function makeSchemas({ sqlTool }: TemporalBinaries, postgres: Postgres): Promise<void> {
  for (const [database, schema] of [
    ['temporal', 'temporal'],
    ['temporal_visibility', 'visibility'],
  ] as const) {
    for (const command of [
      ['create'],
      ['setup-schema', '-v', '0.0'],
      ['update-schema', '--schema-name', `postgresql/v12/${schema}`],
    ]) {
      const env = { ...process.env, ...sqlToolEnv(postgres, database) }
      const { status, stdout, stderr } = spawnSync(sqlTool, command, { env, encoding: 'utf8' })
      if (status !== 0) throw new Error(`${command.join(' ')} of ${database}: ${stdout}${stderr}`)
    }
  }
}

/** Passed as variables, because every user can read the command line of a process. */
function sqlToolEnv(postgres: Postgres, database: string) {
  const url = new URL(postgres.url)
  return {
    SQL_PLUGIN: 'postgres12',
    SQL_HOST: url.hostname,
    SQL_PORT: url.port,
    SQL_USER: url.username,
    SQL_PASSWORD: decodeURIComponent(url.password),
    SQL_DATABASE: database,
  }
}

async function startServer(
  servers: Servers,
  { server }: TemporalBinaries,
  postgres: Postgres,
): Promise<string> {
  const url = new URL(postgres.url)
  const config = join(servers.folder.root, 'dynamic.yaml')
  writeFileSync(config, DYNAMIC_CONFIG)
  const ports: Record<string, string> = {}
  for (const service of ['FRONTEND', 'HISTORY', 'MATCHING', 'WORKER']) {
    for (const use of ['GRPC', 'MEMBERSHIP']) {
      ports[`${service}_${use}_PORT`] = String(await randomPort())
    }
  }
  ports['FRONTEND_HTTP_PORT'] = String(await randomPort())
  const port = Number(ports['FRONTEND_GRPC_PORT'])
  const child = await startChild({
    name: 'Temporal',
    command: server,
    args: ['--allow-no-auth', 'start'],
    cwd: servers.folder.root,
    logFile: servers.folder.log('temporal'),
    env: {
      ...process.env,
      ...ports,
      DB: 'postgres12',
      POSTGRES_SEEDS: url.hostname,
      DB_PORT: url.port,
      POSTGRES_USER: url.username,
      POSTGRES_PWD: decodeURIComponent(url.password),
      NUM_HISTORY_SHARDS: String(HISTORY_SHARDS),
      DYNAMIC_CONFIG_FILE_PATH: config,
      BIND_ON_IP: '127.0.0.1',
      LOG_LEVEL: 'warn',
    },
  })
  servers.record(child, ['SIGTERM'])
  servers.add(() => child.stop({ wait_ms: 10_000 }))
  const deadline = Date.now() + START_WAIT_MS
  while (!(await isListening(port))) {
    if (!child.alive() || Date.now() > deadline) {
      throw new Error(`Temporal did not start:\n${lastLines(child.logFile)}`)
    }
    await pause(POLL_MS)
  }
  return `127.0.0.1:${port}`
}
