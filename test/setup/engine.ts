// The execution engine in the test's process: a real Temporal worker, activities and starter over the test's
// database.
// Long because all parts of a worker are started here, and its runs looked at.

import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { MockActivityEnvironment } from '@temporalio/testing'
import {
  bundleWorkflowCode,
  DefaultLogger,
  makeTelemetryFilterString,
  NativeConnection,
  Runtime,
  type WorkflowBundleOption,
} from '@temporalio/worker'
import { type Activities, createActivities } from '../../activities/index.ts'
import { listen } from '../../db/listen.ts'
import { createWake } from '../../db/wake.ts'
import { createBreakers } from '../../delivery/breakers.ts'
import { createLaneOwners } from '../../delivery/lane/owners.ts'
import { createRenderer, type Renderer } from '../../mail/content/renderer.ts'
import { createRelayTransport } from '../../mail/smtp/relay.ts'
import { parseConfig } from '../../runtime/config.ts'
import { createLog } from '../../runtime/log.ts'
import { createOutbound } from '../../runtime/outbound.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { createTemporalReads } from '../../runtime/temporalReads.ts'
import { createWorkers, loadWorkflowBundle, type WorkerParts } from '../../worker/createWorker.ts'
import { startPump } from '../../worker/pump.ts'
import { startReleases } from '../../worker/releases.ts'
import { startStarter } from '../../worker/starter.ts'
import type { SegmentInput, SegmentResult } from '../../workflows/messages.ts'
import { addressMacOf } from './addressMac.ts'
import type { TestDatabase } from './database.ts'
import { eventually } from './eventually.ts'
import { insertFlow, recordEvent, type TestDesign } from './flows.ts'
import { now as machineNow, newId, seedWorkspace } from './harness.ts'
import { createTestNamespace, type TestNamespace } from './namespace.ts'
import { TEST_SECRET_KEY } from './processes.ts'
import { uniqueName } from './unique.ts'
import { unwatched } from './unwatched.ts'

export interface EngineOptions {
  /** Address and namespace; if absent, the Temporal server of the test run with a new namespace. */
  temporal?: TestNamespace
  workflowBundle?: WorkerParts['workflowBundle']
  /** Roles of the worker; if absent, only executions. */
  roles?: WorkerParts['roles']
  /** Renders the mails of segments; if absent, one of its own. */
  renderer?: Renderer
  /** The clock of activities; if absent, the machine's. */
  now?: () => Date
  /** Which addresses requests of nodes may connect to; if absent, all. */
  mayConnect?: (address: string) => boolean
  /** The pauses between tries of a call, as a multiple of the usual ones. */
  callPace?: number
  /** Wraps the activities of the workflow functions. */
  around?: (activities: Activities) => Partial<Activities>
}

export type Engine = Awaited<ReturnType<typeof startEngine>>

/** Starts the engine. Call it in `beforeAll`, and `stop` in `afterAll`. */
export async function startEngine({ db, pool, url }: TestDatabase, options: EngineOptions = {}) {
  const { address, namespace } = options.temporal ?? (await createTestNamespace())
  const [connection, reading, workflowBundle, workspace] = await Promise.all([
    NativeConnection.connect({ address }),
    Connection.connect({ address }),
    options.workflowBundle ?? testBundle(),
    seedWorkspace(db),
  ])
  const config = parseConfig({
    NODE_ENV: 'test',
    DATABASE_URL: url,
    SECRET_KEY: TEST_SECRET_KEY,
    SMTP_URL: 'smtp://127.0.0.1:1',
  })
  const log = createLog('engine', 'silent')
  const now = options.now ?? machineNow
  const addressMac = await addressMacOf(db)
  const wake = createWake(pool, () => undefined)
  const stopping = new AbortController()
  const renderer = options.renderer ?? createRenderer(log)
  // No lane is owned here.
  const delivering = {
    db,
    claiming: db,
    log,
    now,
    secrets: createSecrets(config.secretKey),
    addressMac,
    config: { ...config, databasePoolSize: pool.options.max },
    transport: createRelayTransport({ url: config.smtpUrl, connections: 1, ehloName: 'mail.test' }),
    breakers: createBreakers({ mode: 'relay', log, now }),
    blame: unwatched,
    wake,
    onDeliveries: () => async () => undefined,
    stopping: stopping.signal,
  }
  const lanes = createLaneOwners(delivering)
  const outbound = createOutbound({ mayConnect: options.mayConnect ?? (() => true) })
  const activities = createActivities({
    ...delivering,
    newId,
    renderer,
    lanes,
    outbound,
    callPace: options.callPace ?? 1,
  })
  const given = { ...activities, ...options.around?.(activities) }
  const parts = { connection, namespace, activities: given, workflowBundle }
  const workers = await createWorkers({ ...parts, roles: options.roles ?? ['executions'] })
  const running = Promise.all(workers.map((worker) => worker.run()))
  const client = new Client({ connection, namespace })
  const reads = createTemporalReads(reading, namespace)
  const createStarter = () =>
    startStarter({
      db,
      client,
      namespace,
      log,
      now,
      onOutbox: (heard) => listen(url, 'dripline_outbox', heard, () => undefined),
    })
  let starter = createStarter()
  const pump = startPump({
    addressMac,
    db,
    now,
    newId,
    wake,
    log,
    onMailEvents: (heard) => listen(url, 'dripline_mail_events', heard, () => undefined),
  })

  const releases = startReleases({ db, client, log })

  const row = (id: string) =>
    db.selectFrom('executions').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const describe = async (id: string) => {
    const found = await reads.describe(id)
    if (!found) throw new Error(`Temporal does not know execution ${id} yet`)
    return found
  }
  return {
    ...workspace,
    db,
    client,
    namespace,
    /** Runs a segment as an activity without Temporal. */
    runSegment: (input: SegmentInput): Promise<SegmentResult> =>
      new MockActivityEnvironment().run(activities.runSegment, input),
    reads,
    row,
    describe,
    /** Posts an event and wakes the starter. @returns ids of the executions that it started */
    async post(eventName: string, email: string, properties = {}): Promise<string[]> {
      const event = { eventName, email, properties }
      const { executionIds } = await recordEvent(db, workspace.workspaceId, event)
      wake('dripline_outbox')
      return executionIds
    },
    /** Makes a workflow with a new event as trigger, and starts an execution of it for a new contact. */
    async run(design: TestDesign, contact = `${uniqueName('c')}@example.test`, engine?: number) {
      const eventName = uniqueName('event')
      const nodes = design.nodes.map((node) =>
        node.type === 'trigger'
          ? { ...node, data: { kind: 'event', event_name: eventName } }
          : node,
      )
      const workflowId = await insertFlow(db, workspace, { ...design, nodes }, engine)
      const [id] = await this.post(eventName, contact)
      if (id === undefined) throw new Error('the event started nothing')
      return { id, email: contact, workflowId }
    },
    wake: () => wake('dripline_outbox'),
    /** Stops the starter: nothing more reaches Temporal until it is started again. */
    stopStarter: () => starter.stop(),
    startStarter() {
      starter = createStarter()
    },
    /** `id=handle` of each step in order. Fails if a step number is missing. */
    async steps(id: string): Promise<string[]> {
      const found = await db
        .selectFrom('execution_steps')
        .select(['seq', 'node_id', 'handle'])
        .where('execution_id', '=', id)
        .orderBy('seq')
        .execute()
      for (const [i, { seq }] of found.entries()) {
        if (seq !== i + 1) throw new Error(`execution ${id}: step ${i + 1} has the number ${seq}`)
      }
      return found.map((step) => `${step.node_id}=${step.handle}`)
    },
    /** Subjects of the execution's emails, in the order of their ids. */
    async subjects(id: string): Promise<string[]> {
      const mails = await db
        .selectFrom('emails')
        .select('subject')
        .where('execution_id', '=', id)
        .orderBy('id')
        .execute()
      return mails.map((email) => email.subject)
    },
    /** Waits until both Temporal and the row have the end status. */
    ended: (id: string, status: 'COMPLETED' | 'FAILED' | 'CANCELLED') =>
      eventually(async () => {
        const [stored, shown] = await Promise.all([row(id), describe(id)])
        const seen = `row ${stored.ended_status}, Temporal ${shown.status}`
        if (stored.ended_status !== status || shown.status !== status) {
          throw new Error(`execution ${id} is not ${status}: ${seen}`)
        }
        return stored
      }),
    /** Waits until the execution waits at this node. */
    waiting: (id: string, nodeId: string) =>
      eventually(async () => {
        const shown = await describe(id)
        if (shown.status !== 'WAITING' || shown.memo?.step !== nodeId) {
          throw new Error(`execution ${id} is ${shown.status} at ${shown.memo?.step}`)
        }
        return shown
      }),
    async stop() {
      stopping.abort()
      await Promise.all([starter.stop(), pump.stop(), releases.stop()])
      for (const worker of workers) worker.shutdown()
      await Promise.all([running, lanes.settled()])
      await Promise.all([connection.close(), reading.close(), renderer.close()])
    },
  }
}

const bundles = new Map<string, Promise<WorkflowBundleOption>>()

/**
 * The workflow functions, which this process bundles once for all its files: each time takes seconds of a processor.
 * @param timers the file of this folder whose interceptors change how timers pass; absent: none
 */
export function testBundle(timers?: 'handTimers' | 'shortTimers'): Promise<WorkflowBundleOption> {
  const made =
    bundles.get(timers ?? '') ??
    (timers === undefined
      ? loadWorkflowBundle(sdkLogger)
      : bundleWorkflowCode({
          workflowsPath: join(import.meta.dirname, '../../workflows/index.ts'),
          workflowInterceptorModules: [join(import.meta.dirname, `${timers}.ts`)],
          logger: sdkLogger,
        }))
  bundles.set(timers ?? '', made)
  return made
}

/** Without this the SDK would log every start and stop of its parts into the test output. */
export const sdkLogger = new DefaultLogger('ERROR')
Runtime.install({
  logger: sdkLogger,
  shutdownSignals: [],
  telemetryOptions: {
    logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR' }) },
  },
})
