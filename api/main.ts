// The API process: connects to Postgres and Temporal, listens, and closes everything in reverse order.
import { Connection } from '@temporalio/client'
import { listenForKeys } from '../commands/api-keys/keyNews.ts'
import { prepareOptOutsLater } from '../commands/opt-outs/prepare.ts'
import { clockTeller, createDatabaseClock } from '../db/clock.ts'
import { connect } from '../db/connect.ts'
import { isUnusable } from '../db/failures.ts'
import { waitForSchema } from '../db/migrate.ts'
import { apiSettings } from '../db/settings.ts'
import { createDatabaseLook, openSpare } from '../db/spare.ts'
import { createWake } from '../db/wake.ts'
import { createRenderer } from '../mail/content/renderer.ts'
import { blockList, isListed } from '../rules/mail/machines.ts'
import { readConfig } from '../runtime/config.ts'
import { createNewId } from '../runtime/ids.ts'
import { createLog } from '../runtime/log.ts'
import { createMetrics, serveMetrics } from '../runtime/metricsServer.ts'
import { createRenderMetrics } from '../runtime/renderMetrics.ts'
import { createSecrets, SecretError } from '../runtime/secrets.ts'
import { createClosers, stopSignal } from '../runtime/shutdown.ts'
import { openPort, watchStart } from '../runtime/startFaults.ts'
import { createTemporalReads } from '../runtime/temporalReads.ts'
import { createApp } from './http/app.ts'
import { createCursors } from './http/cursor.ts'
import { createDropped } from './http/dropped.ts'
import { ACCEPTED_AT_ONCE, listen } from './http/listen.ts'
import { createApiMetrics } from './http/metrics.ts'
import { createHttpServer, serverRules } from './http/server.ts'

const DRAIN_MS = 10_000

const config = readConfig(process.env)
const starting = watchStart(isUnusable)
const log = createLog('api', config.logLevel)
const closers = createClosers(log)
const clock = createDatabaseClock(clockTeller(log))
const { now } = clock
const secrets = createSecrets(config.secretKey, config.secretKeysPrevious)

const onIdleError = (err: Error) => log.warn({ err }, 'a database connection broke while idle')
const { db, shares } = connect({
  url: config.databaseUrl,
  poolSize: config.databasePoolSize,
  name: 'dripline-api',
  settings: apiSettings,
  shared: true,
  onIdleError,
})
closers.add('postgres', () => db.destroy())
const spare = (name: string) => {
  const opened = openSpare({ url: config.databaseUrl, name, onError: onIdleError })
  closers.add(name, opened.close)
  return opened
}

const connection = Connection.lazy({ address: config.temporalAddress })
closers.add('temporal', () => connection.close())

const registry = createMetrics('api')
const apiMetrics = createApiMetrics(registry)
if (shares) apiMetrics.watch({ places: shares.counts })
const metrics = await serveMetrics(
  {
    host: config.host,
    port: config.apiMetricsPort,
    variable: 'API_METRICS_PORT',
    isReady: async () => true,
  },
  registry,
)
closers.add('metrics', metrics.close)

const renderer = createRenderer(log, { watch: createRenderMetrics(registry) })
closers.add('renderer', renderer.close)

const stopping = new AbortController()
const stopped = stopSignal().then((signal) => {
  log.info({ signal }, 'stopping')
  stopping.abort()
})
await waitForSchema(db, {
  signal: stopping.signal,
  onPending: (names) =>
    log.warn({ names }, 'the database has an older schema: run npm run migrate; waiting for it'),
  // Requests are answered with 503 until the database answers.
  onAway: () => false,
})

const keyNews = listenForKeys(config.databaseUrl, (err) =>
  log.warn({ err }, 'revoked keys are not heard of; keys are remembered for a second meanwhile'),
)
closers.add('key news', keyNews.stop)

const looking = spare('dripline-api-ready')
// Workers go by this clock, too: what the API says is due must not lie ahead of it.
await clock.follow(looking)
closers.add('clock', async () => clock.stop())
const newId = createNewId(now)
const wake = createWake(spare('dripline-api-wake'), (err) =>
  log.warn({ err }, 'workers were not woken; they poll'),
)
const optOuts = prepareOptOutsLater(
  { db, secrets, now, newId, wake },
  {
    signal: stopping.signal,
    onFailure(err) {
      // It stays wrong, and every email and link needs the key that it encrypts.
      if (err instanceof SecretError) starting.fail(err)
      log.warn({ err }, 'who has left cannot be read yet; trying again')
    },
  },
)
await optOuts.first

const app = createApp({
  db,
  config,
  log,
  now,
  newId,
  temporal: createTemporalReads(connection, config.temporalNamespace),
  isDatabaseThere: createDatabaseLook(looking),
  wake,
  secrets,
  addressMac: optOuts.addressMac,
  renderer,
  cursors: createCursors(secrets),
  keyNews,
  apiMetrics,
})

const proxies = blockList(config.trustedProxies)
const tellDropped = createDropped((dropped) =>
  log.warn(dropped, 'connections were closed because there were too many'),
)
const server = createHttpServer(app.fetch, {
  isTrustedPeer: (peer) => isListed(proxies, peer.replace(/^::ffff:/, '')),
  onDropped(by) {
    apiMetrics.dropped(by)
    tellDropped(by)
  },
})
const listening = await openPort({ host: 'HOST', port: 'PORT' }, config, () =>
  listen(server, {
    port: config.port,
    host: config.host,
    // A connection that finds no place in it is tried again by its client's system, after a second at the earliest.
    backlog: serverRules.connectionsMax,
  }),
)
starting.over()
log.info({ host: config.host, port: config.port }, 'listening')
// Only now, so that a process whose port is taken starts no other.
renderer.warm()
if (listening.acceptedAtOnce < ACCEPTED_AT_ONCE) {
  const { acceptedAtOnce } = listening
  log.warn({ accepted_at_once: acceptedAtOnce }, 'the listening socket was not copied in time')
}
closers.add('http', () => {
  const drained = listening.close()
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  return drained.finally(() => clearTimeout(timer))
})

await stopped
await closers.close()
process.exit(0)
