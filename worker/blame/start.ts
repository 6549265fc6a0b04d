// Starts the watchdog of a worker, and looks every few seconds at the state files that dead workers of this machine left.
import { createHash } from 'node:crypto'
import type { Registry } from 'prom-client'
import type { Db } from '../../db/connect.ts'
import type { SuspectKind } from '../../rules/wire.ts'
import type { Config } from '../../runtime/config.ts'
import type { Log } from '../../runtime/log.ts'
import { createWatchdog } from '../../runtime/watchdog/watchdog.ts'
import { noteLeftBehind } from './leftBehind.ts'
import { createSuspectMetrics } from './metrics.ts'
import type { BlameThread } from './thread.ts'

/** A segment of a dead worker begins anew after ten seconds: by then a worker beside it has looked. */
const LOOK_MS = 5_000

interface BlameDeps {
  db: Db
  now: () => Date
  log: Log
  config: Pick<Config, 'databaseUrl' | 'logLevel' | 'stateFolder'>
  registry: Registry
}

/** Two services on one machine share the folder: their databases tell their files apart. */
function serviceOf(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl)
  return createHash('sha256').update(`${host}${pathname}`).digest('hex').slice(0, 12)
}

/**
 * Resolves when what dead workers left is noted, so that no segment begins before.
 * @throws Error if the folder of state files cannot be used
 */
export async function startBlame({ db, now, log, config, registry }: BlameDeps) {
  if (process.pid === 1) {
    log.warn(
      'as process 1 of a container a worker that hangs cannot end itself: start it under an init',
    )
  }
  const metrics = createSuspectMetrics(registry)
  const place = { folder: config.stateFolder, service: serviceOf(config.databaseUrl) }
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const more: BlameThread = { databaseUrl: config.databaseUrl, logLevel: config.logLevel }
  const watchdog = createWatchdog({
    ...place,
    thread: new URL(`./thread.${extension}`, import.meta.url),
    more,
    onMessage: (message) => metrics.noted((message as { noted: SuspectKind }).noted),
    onError: (err) => log.error({ err }, 'the watchdog ended; it is started again'),
  })
  const look = () =>
    noteLeftBehind({
      db,
      now,
      log,
      place,
      identity: watchdog.identity,
      noted: metrics.noted,
    }).catch((err: unknown) =>
      log.warn({ err }, 'what dead workers left could not be noted; trying again'),
    )
  await look()
  let looking = Promise.resolve()
  const timer = setInterval(() => {
    looking = looking.then(look)
  }, LOOK_MS)
  return {
    during: watchdog.during,
    /** Says that a suspect was given up. */
    gaveUp(kind: SuspectKind, id: string): void {
      metrics.gaveUp(kind)
      log.error({ kind, id }, 'a suspect was given up: it ended workers while it ran alone')
    },
    async stop(): Promise<void> {
      clearInterval(timer)
      await looking
      await watchdog.close()
    },
  }
}
