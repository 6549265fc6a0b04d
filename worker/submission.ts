// The listener of a worker for mail that customers submit: what it needs of the database and of the other processes.
import type { Registry } from 'prom-client'
import { createFindKey } from '../commands/api-keys/find.ts'
import { createKeyCache } from '../commands/api-keys/keyCache.ts'
import { listenForKeys } from '../commands/api-keys/keyNews.ts'
import type { CommandDeps } from '../commands/deps.ts'
import { createEmailGroups } from '../commands/emails/groups.ts'
import { createKnownDomains } from '../commands/emails/knownDomains.ts'
import { submitEmail } from '../commands/emails/submit.ts'
import { submitOnce } from '../commands/emails/submitOnce.ts'
import { createLimitBook } from '../commands/limits/book.ts'
import { createDailyLimit } from '../commands/limits/daily.ts'
import { createRequestCount } from '../commands/limits/requests.ts'
import { connect } from '../db/connect.ts'
import { inScope } from '../db/scope.ts'
import { apiSettings } from '../db/settings.ts'
import type { GuardTimes } from '../inbound/submission/guard.ts'
import { startSubmission } from '../inbound/submission/listener.ts'
import { createSubmissionMetrics } from '../inbound/submission/metrics.ts'
import type { Config } from '../runtime/config.ts'
import type { Log } from '../runtime/log.ts'

/**
 * Connections to Postgres, which workspaces share as they do those of the API: none keeps another one's mail waiting, and all
 * together no lane.
 */
const POOL_SIZE = 10

interface ListenerDeps extends Pick<CommandDeps, 'now' | 'newId' | 'wake' | 'addressMac'> {
  log: Log
  config: Config
  registry: Registry
  times?: GuardTimes
}

/** Starts the listener. @throws Error like `startSubmission` */
export async function listenForSubmissions(
  deps: ListenerDeps,
  listen: NonNullable<Config['submission']>,
) {
  const { config, log, now } = deps
  const news = listenForKeys(config.databaseUrl, (err) =>
    log.warn({ err }, 'revoked keys are not heard of; keys are remembered for a second meanwhile'),
  )
  const { db } = connect({
    url: config.databaseUrl,
    poolSize: POOL_SIZE,
    name: 'dripline-worker-submission',
    settings: apiSettings,
    shared: true,
    onIdleError: (err) => log.warn({ err }, 'a database connection broke while idle'),
  })
  const findKey = createFindKey({ ...deps, db }, createKeyCache(now, news), (err) =>
    log.warn({ err }, 'last use of a key was not noted'),
  )
  const book = createLimitBook({ db }, (err) =>
    log.warn({ err }, 'limits could not be read; those that were known hold'),
  )
  const daily = createDailyLimit({ db, now }, book)
  const submitting = {
    ...deps,
    db,
    daily,
    emailGroups: createEmailGroups({ ...deps, db }),
    knownDomains: createKnownDomains(),
  }
  const { count, watch } = createSubmissionMetrics(deps.registry)
  const server = await startSubmission({
    listen,
    name: (config.mailHost ?? config.ehloName).toLowerCase(),
    log,
    now,
    findKey,
    countRequest: createRequestCount(now, book),
    submit: (reach, email, messageKey, signal) => {
      const owner = { kind: 'workspace', workspaceId: reach.workspaceId } as const
      return inScope({ owner, signal }, () =>
        messageKey === null
          ? submitEmail(submitting, reach, email)
          : submitOnce(submitting, reach, email, messageKey),
      )
    },
    stateFolder: config.stateFolder,
    count,
    watch,
    drain_ms: config.drainMs,
    ...(deps.times ? { times: deps.times } : {}),
  })
  const stop = async () => {
    await server.stop()
    await news.stop()
    await db.destroy()
  }
  return { port: server.port, tlsPort: server.tlsPort, stop }
}
