// npm start: starts all parts on this machine, shows one screen, and stops all parts at the end.
import { setTimeout as pause } from 'node:timers/promises'
import { createConsole, showing } from '../console.mjs'
import { choosePorts, type Ports } from '../processes/ports.ts'
import { commandOf, isAlive, killAllChildren, parentOf } from '../processes/processes.ts'
import { freeDisk_mb, readMemory } from '../processes/readings.ts'
import { createReservations, reservationsFolder } from '../processes/reservations.ts'
import { checkDisk, checkMemory } from './checks.ts'
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
import { checkGiven } from './given.ts'
import { createParts, type Parts } from './parts.ts'
import { screen } from './screen.ts'
import { seed } from './seed.ts'
import { stopWaits } from './stopWaits.ts'

const HURRY_AFTER_MS = 1_000
const PARENT_POLL_MS = 500
const env: Record<string, string | undefined> = process.env

const console = createConsole()
const dripline = console.part('dripline')

/** Why everything stops: a signal, or the text of a failure. */
type Reason = { signal: string } | { failure: string }

let stop: (reason: Reason) => void
const stopped = new Promise<Reason>((resolve) => {
  stop = resolve
})

/** A signal of the terminal may arrive twice, also through npm. Only a later second one means to stop at once. */
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
  // npm was killed, so nothing else would stop this process.
  setInterval(() => {
    if (!isAlive(npm)) stop({ signal: 'the end of npm' })
  }, PARENT_POLL_MS).unref()
}

/** The pid of the npm that runs this process, directly or through a shell. */
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
    // API and worker both make public links.
    PORT: String(ports.api),
    API_METRICS_PORT: String(ports.apiMetrics),
    METRICS_PORT: String(ports.workerMetrics),
    SECRET_KEY: secret,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: namespace,
    SMTP_URL: inbox.smtpUrl,
    // On this machine nodes may call a service that is tried out beside this one.
    ALLOW_PRIVATE_HTTP: env['ALLOW_PRIVATE_HTTP'] || 'true',
    ALLOW_PRIVATE_WEBHOOKS: env['ALLOW_PRIVATE_WEBHOOKS'] || 'true',
  }
  const inbound = { INBOUND_HOST: '127.0.0.1', INBOUND_PORT: String(ports.inbound) }
  const submission = { SUBMISSION_HOST: '127.0.0.1', SUBMISSION_PORT: String(ports.submission) }
  await Promise.all([
    inbox.ready,
    parts.service('api', shared, `${apiUrl}/readyz`),
    parts.service('worker', { ...shared, ...inbound, ...submission }, `${metricsUrl}/readyz`),
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
    submission_url: `smtp://127.0.0.1:${ports.submission}`,
  }
}

/** Checks memory and disk. @throws Error if there is surely too little; warns if there may be too little */
function checkMachine(folder: DevFolder): void {
  const findings = [checkMemory(readMemory()), checkDisk(freeDisk_mb(folder.root), folder.root)]
  for (const { refusal, warning } of findings) {
    if (refusal) throw new Error(refusal)
    if (warning) dripline.say(warning)
  }
}

async function runUntilStopped(folder: DevFolder): Promise<Reason> {
  await checkGiven(env)
  const reservations = createReservations(reservationsFolder())
  const ports = await choosePorts(env, reservations.take)
  const onGone = (failure: string) => stop({ failure })
  const parts = createParts({ env, folder, ports, console, onGone })
  const started = start(folder, ports, parts).then(
    (info) => {
      writeDevInfo(folder, info)
      console.write(screen(info, folder.root))
    },
    (err) => stop({ failure: err instanceof Error ? err.message : String(err) }),
  )
  const reason = await stopped
  markStopping(folder, stopWaits(env).all_ms)
  if ('signal' in reason) dripline.say(`stopping (${reason.signal})`)
  await showing(dripline, (seconds) => `stopping, ${seconds} s`, parts.stop())
  // Kills children that were still starting.
  await killAllChildren()
  await Promise.race([started, pause(HURRY_AFTER_MS)])
  reservations.release()
  return reason
}

listenForSignals()
try {
  const folder = openFolder(env['DRIPLINE_DATA'])
  checkMachine(folder)
  await claimFolder(folder, dripline.say)
  const reason = await runUntilStopped(folder)
  releaseFolder(folder)
  if ('failure' in reason) throw new Error(reason.failure)
  dripline.say('stopped')
  process.exit(0)
} catch (err) {
  process.stderr.write(`\nnpm start: ${err instanceof Error ? err.message : String(err)}\n`)
  process.exit(1)
}
