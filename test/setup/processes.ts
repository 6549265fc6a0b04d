// Runs the real API and worker processes for tests: ready, killed, frozen, restarted on their port.
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { recordChild } from '../../dev/processes/children.ts'
import { randomPort } from '../../dev/processes/ports.ts'
import { type Child, lastLines } from '../../dev/processes/processes.ts'
import { type ServiceName, startService, waitReady } from '../../dev/servers/services.ts'
import { builtServices } from './built.ts'
import { uniqueName } from './unique.ts'

/** 32 bytes in base64, the same in all tests. */
export const TEST_SECRET_KEY = Buffer.alloc(32, 7).toString('base64')

export interface ServiceEnv {
  databaseUrl: string
  temporalAddress: string
  temporalNamespace: string
  smtpUrl: string
  /** Further variables, or other values for the usual ones. */
  env?: Record<string, string>
  /** false: its start is not waited for, for a process that waits itself. */
  ready?: boolean
}

export interface TestProcess {
  /** URL of the API, or of the worker's metrics and health paths. */
  url: string
  port: number
  readonly pid: number
  /** The end of its log. */
  log(lines?: number): string
  /** Sends SIGTERM, and SIGKILL after 15 s. Resolves with how the process ended. */
  stop(): Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  kill(): Promise<void>
  /** Sends SIGSTOP: the process is alive but does nothing. */
  freeze(): void
  thaw(): void
  /** Starts it again on the same port. `ready: false` does not wait for /readyz. */
  start(options?: { ready?: boolean }): Promise<void>
}

/** Starts an API process on a random port and waits until it is ready. It ends with the test. */
export function startApi(service: ServiceEnv): Promise<TestProcess> {
  return startProcess('api', service)
}

/** Starts a worker process and waits until it is ready. It ends with the test. */
export function startWorker(service: ServiceEnv): Promise<TestProcess> {
  return startProcess('worker', service)
}

async function startProcess(name: ServiceName, service: ServiceEnv): Promise<TestProcess> {
  const folder = inject('runFolder')
  const logFile = join(folder, `${uniqueName(name)}.log`)
  const dist = await builtServices(folder)
  const port = await randomPort()
  const url = `http://127.0.0.1:${port}`
  const env = {
    NODE_ENV: 'test',
    LOG_LEVEL: 'info',
    HOST: '127.0.0.1',
    SECRET_KEY: TEST_SECRET_KEY,
    DATABASE_URL: service.databaseUrl,
    TEMPORAL_ADDRESS: service.temporalAddress,
    TEMPORAL_NAMESPACE: service.temporalNamespace,
    SMTP_URL: service.smtpUrl,
    EHLO_NAME: 'mail.test',
    WORKER_STATE_DIR: join(folder, 'worker-state'),
    ...(name === 'api' ? { PORT: String(port) } : { METRICS_PORT: String(port) }),
    ...service.env,
  }
  let child: Child
  const start = async ({ ready = true }: { ready?: boolean } = {}) => {
    child = await startService(name, env, logFile, dist)
    recordChild(join(folder, 'children'), child, ['SIGKILL'])
    if (ready) await waitReady(child, `${url}/readyz`)
  }
  onTestFinished(() => child?.kill())
  await start(service)
  return {
    url,
    port,
    get pid() {
      return child.pid
    },
    log: (lines) => lastLines(logFile, lines),
    async stop() {
      await child.stop({ wait_ms: 15_000 })
      return child.exited
    },
    kill: () => child.kill(),
    freeze: () => child.signal('SIGSTOP'),
    thaw: () => child.signal('SIGCONT'),
    start,
  }
}
