// The servers of one benchmark: Postgres, databases, API and worker processes. All are stopped at its end.
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { migrateUrl } from '../db/migrate.ts'
import { endRecorded, recordChild } from '../dev/processes/children.ts'
import { randomPort } from '../dev/processes/ports.ts'
import type { Child } from '../dev/processes/processes.ts'
import { type Postgres, type PostgresOptions, startPostgres } from '../dev/servers/postgres.ts'
import { type ServiceName, startService, waitReady } from '../dev/servers/services.ts'
import { claimFolder, openFolder, releaseFolder } from '../dev/start/folder.ts'
import { databaseUrl, runSql } from '../test/setup/template.ts'
import { buildProduction } from './production.ts'

/** In the project's folder, because a temporary folder may be in memory, where fsync costs nothing. */
const ROOT = dirname(import.meta.dirname)
const FOLDER = join(ROOT, '.data', 'bench')
const STOP_WAIT_MS = 15_000

/** 32 bytes in base64. A fixed key is fine, because the data of a benchmark is deleted. */
export const SECRET_KEY = Buffer.alloc(32, 11).toString('base64')

interface ServiceOptions {
  databaseUrl: string
  temporalAddress?: string
  temporalNamespace?: string
  smtpUrl?: string
  env?: Record<string, string>
}

interface Service {
  url: string
  port: number
  pid: number
  stop(): Promise<void>
}

export type Servers = Awaited<ReturnType<typeof openServers>>

/** Runs a benchmark with its own servers. In any case they are stopped and their data is removed. */
export async function withServers<T>(
  say: (line: string) => void,
  run: (servers: Servers) => Promise<T>,
): Promise<T> {
  const servers = await openServers(say)
  try {
    return await run(servers)
  } finally {
    await servers.close()
  }
}

async function openServers(say: (line: string) => void) {
  const folder = openFolder(FOLDER)
  await claimFolder(folder, say).catch((err) => {
    throw new Error(`Another benchmark runs on ${folder.root}: one at a time`, { cause: err })
  })
  // Removes what a killed run has left.
  for (const path of [folder.postgres, `${folder.postgres}.password`, `${folder.postgres}.new`]) {
    rmSync(path, { recursive: true, force: true })
  }
  const record = (child: Child, signals: NodeJS.Signals[]) =>
    recordChild(folder.children, child, signals)
  const closers: (() => Promise<void>)[] = []
  /** What all services run, as an operator runs it; made for the first of them. */
  let built: Promise<string> | undefined

  async function service(name: ServiceName, options: ServiceOptions): Promise<Service> {
    built ??= buildProduction(folder, say)
    const dist = await built
    const port = await randomPort()
    const url = `http://127.0.0.1:${port}`
    const env = {
      NODE_ENV: 'production',
      LOG_LEVEL: 'warn',
      HOST: '127.0.0.1',
      SECRET_KEY,
      DATABASE_URL: options.databaseUrl,
      TEMPORAL_ADDRESS: options.temporalAddress ?? '127.0.0.1:1',
      TEMPORAL_NAMESPACE: options.temporalNamespace ?? 'default',
      SMTP_URL: options.smtpUrl ?? 'smtp://127.0.0.1:1',
      EHLO_NAME: 'mail.bench.test',
      PUBLIC_URL: 'https://mail.bench.test',
      ...(name === 'api'
        ? { PORT: String(port), API_METRICS_PORT: '0' }
        : { METRICS_PORT: String(port) }),
      ...options.env,
    }
    const logFile = folder.log(`${name}-${port}`)
    const child = record(await startService(name, env, logFile, dist), ['SIGKILL'])
    // An API can accept requests without Temporal; a worker needs it.
    await waitReady(child, `${url}${name === 'api' ? '/healthz' : '/readyz'}`)
    const stop = () => child.stop({ wait_ms: STOP_WAIT_MS })
    closers.push(stop)
    return { url, port, pid: child.pid, stop }
  }

  return {
    folder,
    record,
    /** Adds a function to call at the end. The functions are called in reverse order. */
    add(close: () => Promise<void>) {
      closers.push(close)
    },
    /** Starts a new cluster. Use `durable: false` (no fsync) only if reads alone are measured. */
    async postgres({
      durable,
      ...memory
    }: Pick<PostgresOptions, 'durable' | 'sharedBuffers'>): Promise<Postgres> {
      const postgres = await startPostgres({
        dataDir: folder.postgres,
        port: await randomPort(),
        durable,
        env: process.env,
        ...memory,
        log: say,
        logFile: folder.log('postgres'),
      })
      record(postgres.child, ['SIGINT', 'SIGQUIT'])
      closers.push(() => postgres.stop())
      return postgres
    },
    /** Makes a migrated database. @returns its URL */
    async database(postgres: Postgres, name: string): Promise<string> {
      await runSql(postgres.url, `create database ${name}`)
      const url = databaseUrl(postgres.url, name)
      await migrateUrl(url)
      return url
    },
    api: (options: ServiceOptions) => service('api', options),
    worker: (options: ServiceOptions) => service('worker', options),
    async close() {
      for (const close of closers.splice(0).reverse()) {
        await close().catch((err) => say(`a part did not close: ${String(err)}`))
      }
      await endRecorded(folder.children)
      releaseFolder(folder)
      rmSync(folder.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    },
  }
}
