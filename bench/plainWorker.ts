// A worker process for the hand-written reference: the service's settings and starter, with another workflow
// function.

import { fileURLToPath } from 'node:url'
import { Client } from '@temporalio/client'
import { bundleWorkflowCode, NativeConnection, Runtime } from '@temporalio/worker'
import { createActivities } from '../activities/index.ts'
import { connect } from '../db/connect.ts'
import { listen } from '../db/listen.ts'
import { createWake } from '../db/wake.ts'
import { createBreakers } from '../delivery/breakers.ts'
import type { Blame } from '../delivery/deps.ts'
import type { LaneOwners } from '../delivery/lane/owners.ts'
import { createRenderer } from '../mail/content/renderer.ts'
import type { MailTransport } from '../mail/transport.ts'
import { type Config, parseConfig } from '../runtime/config.ts'
import { createNewId } from '../runtime/ids.ts'
import { createLog, type Log } from '../runtime/log.ts'
import { createOutbound } from '../runtime/outbound.ts'
import { createSecrets } from '../runtime/secrets.ts'
import { createWorkers } from '../worker/createWorker.ts'
import { startStarter } from '../worker/starter.ts'
import { temporalLogger } from '../worker/temporalLogger.ts'
import type { Scenario } from './automationScenarios.ts'
import { createPlainActivities } from './plainActivities.ts'
import { serve } from './remote.ts'
import { SECRET_KEY } from './servers.ts'
import { addressMacOf } from './workspace.ts'

const failed = (err: unknown) => void process.stderr.write(`plain worker: ${String(err)}\n`)

/** What a plain workflow function does is not compared with the blame of segments. */
const unwatched: Blame = {
  during: (_mark, work) => work(() => undefined),
  gaveUp: () => undefined,
}

/** The delivery role is off, so this transport is never used. */
const noTransport: MailTransport = {
  send: () => Promise.reject(new Error('the delivery role is off')),
  rooms: () => ({ known: new Map(), other: 0 }),
  close: async () => undefined,
}

/** For the same reason there are no lanes. */
const noLanes: LaneOwners = {
  own: () => Promise.reject(new Error('the delivery role is off')),
  settled: async () => undefined,
}

const now = () => new Date()
async function createDeps(config: Config, log: Log) {
  const { db, pool } = connect({
    url: config.databaseUrl,
    poolSize: config.databasePoolSize,
    name: 'bench-plain',
    onIdleError: failed,
  })
  const deps = {
    addressMac: await addressMacOf(db),
    db,
    claiming: db,
    log,
    now,
    newId: createNewId(now),
    secrets: createSecrets(config.secretKey),
    renderer: createRenderer(log),
    config,
    wake: createWake(pool, failed),
    transport: noTransport,
    breakers: createBreakers({ mode: 'relay', log, now }),
    blame: unwatched,
    lanes: noLanes,
    onDeliveries: () => async () => undefined,
    outbound: createOutbound({ mayConnect: () => false }),
    callPace: 1,
    stopping: new AbortController().signal,
  }
  return { db, deps }
}

const handlers = {
  /** Resolves when it polls. */
  async start(input: {
    databaseUrl: string
    temporalAddress: string
    namespace: string
    domainId: string
    scenario: Scenario
  }): Promise<void> {
    const { databaseUrl, temporalAddress, namespace, domainId, scenario } = input
    const workflowsPath = fileURLToPath(new URL(`./${scenario.plain}`, import.meta.url))
    const config = parseConfig({
      DATABASE_URL: databaseUrl,
      SECRET_KEY,
      SMTP_URL: 'smtp://127.0.0.1:1',
      PUBLIC_URL: 'https://mail.bench.test',
      WORKER_ROLES: 'executions',
    })
    const log = createLog('plain', 'warn')
    Runtime.install({ shutdownSignals: [], logger: temporalLogger(log) })
    const { db, deps } = await createDeps(config, log)
    const [connection, workflowBundle] = await Promise.all([
      NativeConnection.connect({ address: temporalAddress }),
      bundleWorkflowCode({ workflowsPath }),
    ])
    const workers = await createWorkers({
      connection,
      namespace,
      roles: config.workerRoles,
      activities: { ...createActivities(deps), ...createPlainActivities(deps, scenario, domainId) },
      workflowBundle,
    })
    for (const worker of workers) worker.run().catch(failed)
    startStarter({
      db,
      client: new Client({ connection, namespace }),
      namespace,
      log,
      now,
      // Its executions write no segments, by which the starter knows that one has begun.
      startsAhead: [{ size: Number.POSITIVE_INFINITY, within_ms: 0 }],
      onOutbox: (wake) => listen(databaseUrl, 'dripline_outbox', wake, failed),
    })
  },
}

export type PlainWorker = typeof handlers

serve(handlers)
