// The servers of one benchmark: its own Postgres, databases, API and worker processes; all end with it.
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { migrateUrl } from '../db/migrate.ts'
import { endRecorded, recordChild } from '../dev/children.ts'
import { claimFolder, openFolder, releaseFolder } from '../dev/folder.ts'
import { randomPort } from '../dev/ports.ts'
import { type Postgres, startPostgres } from '../dev/postgres.ts'
import { type Child, startChild } from '../dev/processes.ts'
import { type ServiceName, startService, waitReady } from '../dev/services.ts'
import { databaseUrl, runSql } from '../test/setup/template.ts'

/** In the project's own folder, since a temporary one may well be memory, where fsync costs nothing. */
const ROOT = dirname(import.meta.dirname)
const FOLDER = join(ROOT, '.data', 'bench')
const STOP_WAIT_MS = 15_000

/** 32 bytes in base64: what benchmarks encrypt is thrown away with them. */
export const SECRET_KEY = Buffer.alloc(32, 11).toString('base64')

interface ServiceOptions {
  databaseUrl: string
  temporalAddress?: string
  temporalNamespace?: string
  smtpUrl?: string
  env?: Record<string, string>
  /** A production build to run; the sources when absent. */
  dist?: string
}

interface Service {
  url: string
  port: number
  pid: number
  stop(): Promise<void>
}

export type Servers = Awaited<ReturnType<typeof openServers>>

/** Runs a benchmark with servers of its own; whatever becomes of it, they are stopped and their data removed. */
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
  // What a killed run left; the logs are made anew too.
  for (const path of [folder.postgres, `${folder.postgres}.password`, `${folder.postgres}.new`]) {
    rmSync(path, { recursive: true, force: true })
  }
  const record = (child: Child, signals: NodeJS.Signals[]) =>
    recordChild(folder.children, child, signals)
  const closers: (() => Promise<void>)[] = []

  async function service(name: ServiceName, options: ServiceOptions): Promise<Service> {
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
    const started = options.dist
      ? await startBuilt(name, options.dist, env, logFile)
      : await startService(name, env, logFile)
    const child = record(started, ['SIGKILL'])
    // An API is ready to accept without Temporal; a worker is not.
    await waitReady(child, `${url}${name === 'api' ? '/healthz' : '/readyz'}`)
    const stop = () => child.stop({ wait_ms: STOP_WAIT_MS })
    closers.push(stop)
    return { url, port, pid: child.pid, stop }
  }

  return {
    folder,
    record,
    /** Closes with the rest, before what was there earlier. */
    add(close: () => Promise<void>) {
      closers.push(close)
    },
    /** A new cluster. `durable: false` (no fsync) only where nothing but reading is measured. */
    async postgres({ durable }: { durable: boolean }): Promise<Postgres> {
      const postgres = await startPostgres({
        dataDir: folder.postgres,
        port: await randomPort(),
        durable,
        log: say,
        logFile: folder.log('postgres'),
      })
      record(postgres.child, ['SIGINT', 'SIGQUIT'])
      closers.push(() => postgres.stop())
      return postgres
    },
    /** A migrated database of its own; @returns its URL */
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

function startBuilt(name: ServiceName, dist: string, env: Record<string, string>, logFile: string) {
  return startChild({
    name,
    command: process.execPath,
    args: ['--enable-source-maps', join(dist, name, 'main.js')],
    env,
    cwd: ROOT,
    logFile,
  })
}
