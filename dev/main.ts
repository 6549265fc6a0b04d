// npm start: brings up all parts on this machine, shows one screen, and stops all of them again.
import { setTimeout as pause } from 'node:timers/promises'
import { ensureDemo } from './demo.ts'
import {
  claimFolder,
  type DevFolder,
  type DevInfo,
  markStopping,
  openFolder,
  readDevInfo,
  releaseFolder,
  secretKey,
  writeDevInfo,
} from './folder.ts'
import { createParts, type Parts } from './parts.ts'
import { choosePorts, type Ports } from './ports.ts'
import { commandOf, isAlive, killAllChildren, parentOf } from './processes.ts'
import { createReservations, reservationsFolder } from './reservations.ts'
import { createSay, screen } from './screen.ts'
import { seed } from './seed.ts'

const HURRY_AFTER_MS = 1_000
const PARENT_POLL_MS = 500
const env: Record<string, string | undefined> = process.env

const say = createSay()
const tell = say('dripline')

/** Why everything stops: a signal, which is wanted, or the text of a failure. */
type Reason = { signal: string } | { failure: string }

let stop: (reason: Reason) => void
const stopped = new Promise<Reason>((resolve) => {
  stop = resolve
})

/** A signal of the terminal may reach us twice, over npm too: only one that comes later means "now". */
function listenForSignals(): void {
  let first_ms: number | undefined
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      first_ms ??= Date.now()
      stop({ signal })
      if (Date.now() - first_ms < HURRY_AFTER_MS) return
      void killAllChildren().then(() => process.exit(1))
    })
  }
  const npm = npmPid()
  if (npm === undefined) return
  // npm was killed: nobody is left to stop us.
  setInterval(() => {
    if (!isAlive(npm)) stop({ signal: 'the end of npm' })
  }, PARENT_POLL_MS).unref()
}

/** The npm that runs us, directly or through a shell. */
function npmPid(): number | undefined {
  if (env['npm_lifecycle_event'] !== 'start') return undefined
  const throughShell = /(^|\/)(ba|da|z|k)?sh -c /.test(commandOf(process.ppid))
  return throughShell ? parentOf(process.ppid) : process.ppid
}

async function start(folder: DevFolder, ports: Ports, parts: Parts): Promise<DevInfo> {
  const namespace = env['TEMPORAL_NAMESPACE'] || 'default'
  const secret = env['SECRET_KEY'] || secretKey(folder)
  const known = readDevInfo(folder)?.api_key
  const inbox = parts.inbox()
  const [[databaseUrl, apiKey], temporal] = await Promise.all([
    parts.postgres().then(async (databaseUrl) => {
      return [databaseUrl, await seed({ databaseUrl, secretKey: secret, knownKey: known })] as const
    }),
    parts.temporal(namespace),
  ])
  const apiUrl = `http://127.0.0.1:${ports.api}`
  const metricsUrl = `http://127.0.0.1:${ports.workerMetrics}`
  const shared = {
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    // Both make public links.
    PORT: String(ports.api),
    API_METRICS_PORT: String(ports.apiMetrics),
    METRICS_PORT: String(ports.workerMetrics),
    SECRET_KEY: secret,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: namespace,
    SMTP_URL: inbox.smtpUrl,
  }
  const inbound = { INBOUND_HOST: '127.0.0.1', INBOUND_PORT: String(ports.inbound) }
  await Promise.all([
    inbox.ready,
    parts.service('api', shared, `${apiUrl}/readyz`),
    parts.service('worker', { ...shared, ...inbound }, `${metricsUrl}/readyz`),
  ])
  await ensureDemo(apiUrl, apiKey)
  return {
    api_url: apiUrl,
    api_key: apiKey,
    inbox_url: inbox.webUrl,
    smtp_url: inbox.smtpUrl,
    temporal_address: temporal.address,
    temporal_ui_url: temporal.uiUrl,
    database_url: databaseUrl,
    api_metrics_url: `http://127.0.0.1:${ports.apiMetrics}/metrics`,
    metrics_url: `${metricsUrl}/metrics`,
    inbound_url: `smtp://127.0.0.1:${ports.inbound}`,
  }
}

async function runUntilStopped(folder: DevFolder): Promise<Reason> {
  const reservations = createReservations(reservationsFolder())
  const ports = await choosePorts(env, reservations.take)
  const onGone = (failure: string) => stop({ failure })
  const parts = createParts({ env, folder, ports, say, onGone })
  const started = start(folder, ports, parts).then(
    (info) => {
      writeDevInfo(folder, info)
      process.stdout.write(screen(info, folder.root))
    },
    (err) => stop({ failure: err instanceof Error ? err.message : String(err) }),
  )
  const reason = await stopped
  markStopping(folder)
  if ('signal' in reason) tell(`stopping (${reason.signal})`)
  await parts.stop()
  // What was still starting when the stop came.
  await killAllChildren()
  await Promise.race([started, pause(HURRY_AFTER_MS)])
  reservations.release()
  return reason
}

listenForSignals()
try {
  const folder = openFolder(env['DRIPLINE_DATA'])
  await claimFolder(folder, tell)
  const reason = await runUntilStopped(folder)
  releaseFolder(folder)
  if ('failure' in reason) throw new Error(reason.failure)
  tell('stopped')
  process.exit(0)
} catch (err) {
  process.stderr.write(`\nnpm start: ${err instanceof Error ? err.message : String(err)}\n`)
  process.exit(1)
}
