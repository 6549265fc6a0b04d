// The worker process: runs executions and delivery lanes, and empties the outbox. Any number of workers may run.
// Long because it starts each part of a worker in its order.
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from '@temporalio/client'
import { makeTelemetryFilterString, Runtime } from '@temporalio/worker'
import { createActivities } from '../activities/index.ts'
import { prepareOptOuts } from '../commands/opt-outs/prepare.ts'
import { clockTeller, createDatabaseClock } from '../db/clock.ts'
import { connect } from '../db/connect.ts'
import { claimSettings } from '../db/deliveries/claim.ts'
import { isUnusable } from '../db/failures.ts'
import { listen } from '../db/listen.ts'
import { waitForSchema } from '../db/migrate.ts'
import { workerSettings } from '../db/settings.ts'
import { createDatabaseLook, openSpare } from '../db/spare.ts'
import { createWake } from '../db/wake.ts'
import { createBreakers } from '../delivery/breakers.ts'
import { createDestinations } from '../delivery/lane/destinations.ts'
import { createLaneOwners } from '../delivery/lane/owners.ts'
import { startForgetting } from '../delivery/unusedDomains.ts'
import { createRenderer } from '../mail/content/renderer.ts'
import { limits } from '../rules/limits.ts'
import type { WakeChannel } from '../rules/wire.ts'
import { readConfig } from '../runtime/config.ts'
import { createNewId } from '../runtime/ids.ts'
import { createLog } from '../runtime/log.ts'
import { createMetrics, serveMetrics } from '../runtime/metricsServer.ts'
import { lowerPriority } from '../runtime/priority.ts'
import { createRenderMetrics } from '../runtime/renderMetrics.ts'
import { createSecrets } from '../runtime/secrets.ts'
import { shareLook } from '../runtime/sharedLook.ts'
import { createClosers, stopSignal } from '../runtime/shutdown.ts'
import { watchStart } from '../runtime/startFaults.ts'
import { startFolding } from './audienceCounts.ts'
import { startBlame } from './blame/start.ts'
import { createCalls } from './calls.ts'
import { checkFiles } from './checkFiles.ts'
import { connectTemporal } from './connectTemporal.ts'
import { createTransport } from './createTransport.ts'
import { createWorkers, loadWorkflowBundle } from './createWorker.ts'
import { watchDeletedAudiences } from './deletedAudienceMetrics.ts'
import { startForgettingAudiences } from './deletedAudiences.ts'
import { createDeliveryMetrics } from './deliveryMetrics.ts'
import { startEmailStats } from './emailStats.ts'
import { startAnalyzing } from './grownTables.ts'
import { listenForMail } from './inbound.ts'
import { startJobs } from './jobs.ts'
import { keepLanes } from './lanes.ts'
import { startChecking } from './missingChecks.ts'
import { startOptOuts } from './optOuts.ts'
import { watchOutbox } from './outboxMetrics.ts'
import { startPump } from './pump.ts'
import { startReleases } from './releases.ts'
import { startRetention } from './retention.ts'
import { startRounds } from './rounds.ts'
import { startSegments } from './segments.ts'
import { startStarter } from './starter.ts'
import { listenForSubmissions } from './submission.ts'
import { temporalLogger } from './temporalLogger.ts'
import { startWebhooks } from './webhooks.ts'
import { runWithoutWatchdog } from './withoutWatchdog.ts'

/** Connections on which lanes claim, and look whether anything is due; each takes some ms. */
const CLAIMING_MAX = 4
const SMTP_CLOSE_MS = 1_000

const config = readConfig(process.env)
const starting = watchStart(isUnusable)
// Before the threads of Temporal's native part begin.
lowerPriority(config.workerNice)
runWithoutWatchdog()
const log = createLog('worker', config.logLevel)
const closers = createClosers(log)
const clock = createDatabaseClock(clockTeller(log))
const { now } = clock
const secrets = createSecrets(config.secretKey, config.secretKeysPrevious)
checkFiles(config, log)
const newId = createNewId(now)
const stopping = new AbortController()
const stopped = stopSignal().then((signal) => {
  log.info({ signal }, 'stopping')
  stopping.abort()
})

// The SDK must not handle signals: the lanes have to stop before its workers do.
const sdkLogger = temporalLogger(log)
Runtime.install({
  shutdownSignals: [],
  logger: sdkLogger,
  // Lines of the SDK's native part are forwarded to the same log.
  telemetryOptions: {
    logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) },
  },
})

const onIdleError = (err: Error) => log.warn({ err }, 'a database connection broke while idle')
const { db } = connect({
  url: config.databaseUrl,
  poolSize: config.databasePoolSize,
  name: 'dripline-worker',
  settings: workerSettings,
  onIdleError,
})
closers.add('postgres', () => db.destroy())
const spare = (name: string) => {
  const opened = openSpare({ url: config.databaseUrl, name, onError: onIdleError })
  closers.add(name, opened.close)
  return opened
}

let polling = false
const registry = createMetrics('worker')
const looking = spare('dripline-worker-ready')
const isDatabaseThere = shareLook(createDatabaseLook(looking), limits.readinessKeptMs)
const metrics = await serveMetrics(
  {
    host: config.host,
    port: config.metricsPort,
    variable: 'METRICS_PORT',
    isReady: async () => polling && isDatabaseThere(),
  },
  registry,
)
closers.add('metrics', metrics.close)

const wake = createWake(spare('dripline-worker-wake'), (err) =>
  log.warn({ err }, 'workers were not woken; they poll'),
)
const onChannel = (channel: WakeChannel) => (wake: () => void) =>
  listen(config.databaseUrl, channel, wake, (err) =>
    log.warn({ err, channel }, 'listening broke; connecting again, polling meanwhile'),
  )

await waitForSchema(db, {
  signal: stopping.signal,
  onPending: (names) =>
    log.warn({ names }, 'the database has an older schema: run npm run migrate; waiting for it'),
  onAway: (err) => {
    log.warn({ err }, 'the database is not there yet; trying again')
    return true
  },
})

await clock.follow(looking)
closers.add('clock', clock.stop)

const addressMac = await prepareOptOuts({ db, secrets, now, newId, wake }, stopping.signal)

// Before anything begins, so that what ended workers before is known.
const blame = await startBlame({ db, now, log, config, registry })
closers.add('blame', blame.stop)

const roles = config.workerRoles
const told = { db, now, newId, wake, addressMac }
// Mail events and reports need only Postgres, so they are handled even while Temporal is away.
if (roles.includes('executions')) {
  const onMailEvents = onChannel('dripline_mail_events')
  closers.add('pump', startPump({ ...told, log, onMailEvents }).stop)
  closers.add('opt-outs', startOptOuts({ ...told, log }).stop)
  closers.add('audience counts', startFolding({ ...told, log }).stop)
  watchDeletedAudiences(registry, { db, log, now })
  closers.add('deleted audiences', startForgettingAudiences({ ...told, log }).stop)
  closers.add('email stats', startEmailStats({ ...told, log }).stop)
  closers.add('segments', startSegments({ ...told, log }).stop)
  closers.add('grown tables', startAnalyzing({ ...told, log }).stop)
  const { retentionDays } = config
  closers.add('retention', startRetention({ ...told, log, registry, retentionDays }).stop)
}
// They need only Postgres, like mail events. They stop beside the listeners and the lanes, which may take all of the time that a stop has.
if (roles.includes('delivery')) {
  const webhooks = startWebhooks({ db, now, wake, secrets, log, config, registry })
  closers.addEarly('webhooks', webhooks.stop, stopping.signal)
}
if (config.unusedInbound.length > 0) {
  const settings = config.unusedInbound
  log.warn({ settings }, 'these are set without INBOUND_PORT: this worker listens for no mail')
}
// Both stop beside the lanes, and have as long for what is under way.
if (config.inbound) {
  const deps = { ...told, secrets, log, config, registry }
  const inbound = await listenForMail(deps, config.inbound)
  closers.addEarly('inbound', inbound.stop, stopping.signal)
  log.info({ port: inbound.port }, 'taking reports')
}
if (config.submission) {
  const deps = { ...told, log, config, registry }
  const submission = await listenForSubmissions(deps, config.submission)
  closers.addEarly('submission', submission.stop, stopping.signal)
  log.info({ port: submission.port, tls_port: submission.tlsPort }, 'taking mail by SMTP')
}

const [connection, workflowBundle] = await Promise.all([
  // Everything below waits for it.
  connectTemporal(config, { log, signal: stopping.signal }),
  loadWorkflowBundle(sdkLogger),
])
closers.add('temporal', () => connection.close())
const namespace = config.temporalNamespace
const client = new Client({ connection, namespace })

const transport = createTransport(config, {
  onDestination: createDestinations({ db, log, now, wake }),
  onDoubt: () =>
    log.warn('the resolver finds no domain of a recipient: mail waits; look at DNS_SERVERS'),
})
// The lanes have already waited for mail under way. A silent server could keep a session open for minutes more.
closers.add('smtp', () => Promise.race([transport.close(), delay(SMTP_CLOSE_MS)]))

// A segment whose mail is refused for now is tried again later. Few of one workspace may wait here, since those that
// wait hold places in which segments of other workspaces could run.
const renderer = createRenderer(log, { eachMax: 20, watch: createRenderMetrics(registry) })
closers.add('renderer', renderer.close)
if (roles.includes('executions')) renderer.warm()

const claiming = connect({
  url: config.databaseUrl,
  poolSize: CLAIMING_MAX,
  name: 'dripline-worker-claims',
  settings: { ...workerSettings, ...claimSettings },
  onIdleError,
}).db
closers.add('claims', () => claiming.destroy())
const breakers = createBreakers({ mode: config.deliveryMode, log, now })
const delivering = {
  db,
  claiming,
  log,
  now,
  secrets,
  addressMac,
  config,
  transport,
  breakers,
  blame,
  metrics: createDeliveryMetrics(registry, { db, log, now, transport, breakers }),
  wake,
  onDeliveries: onChannel('dripline_deliveries'),
  stopping: stopping.signal,
}
const lanes = createLaneOwners(delivering)
closers.add('lanes', lanes.settled)
const calls = createCalls(config)
const activities = createActivities({ ...delivering, newId, renderer, lanes, ...calls })

const workers = await createWorkers({ connection, namespace, roles, activities, workflowBundle })
// From here on lanes send: until the worker drains at its end, nothing is waited for whose failure would end it.
const running = Promise.all(workers.map((worker) => worker.run()))
closers.add('workers', async () => {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  await running
})

if (roles.includes('executions')) {
  const starter = startStarter({
    db,
    client,
    namespace,
    log,
    now,
    onOutbox: onChannel('dripline_outbox'),
  })
  closers.add('starter', starter.stop)
  watchOutbox(registry, { db, log, now })
  // Domains that an early release registered have no workflow function for their checks yet.
  closers.add('missing checks', startChecking({ db, log, now, wake }).stop)
  closers.add('jobs', startJobs({ db, client, log }).stop)
  closers.add('releases', startReleases({ db, client, log }).stop)
  closers.add('rounds', startRounds({ db, client, connection, namespace, log, now, wake }).stop)
}
if (roles.includes('delivery')) {
  closers.add('missing lanes', keepLanes({ db, client, log }, config.deliveryLanes).stop)
  closers.add('unused domains', startForgetting({ db, log, now, wake }).stop)
}

polling = true
starting.over()
log.info({ roles, namespace, metrics_port: metrics.port }, 'working')

// When a worker stops polling the process ends, so that its supervisor starts another.
const failure = await Promise.race([
  stopped,
  running.then(
    () => undefined,
    (err: unknown) => err,
  ),
])
if (failure) log.fatal({ err: failure }, 'a worker ended')
stopping.abort()
await closers.close()
process.exit(failure ? 1 : 0)
