// Histories that earlier releases recorded still replay, so that a deployment does not break waiting executions.
import { readdirSync } from 'node:fs'
import type { WorkflowBundleOption } from '@temporalio/worker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelExecution } from '../../commands/executions/cancel.ts'
import { signals, taskQueues, workflowIds, workflowTypes } from '../../rules/wire.ts'
import type {
  DeliveryLaneInput,
  ReleaseHeldInput,
  RunJobInput,
  RunScheduleInput,
  VerifyDomainInput,
} from '../../workflows/messages.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine, testBundle } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent, type TestDesign } from '../setup/flows.ts'
import { now } from '../setup/harness.ts'
import { HISTORIES, readHistory, record, replay } from '../setup/histories.ts'
import { createHttpServer } from '../setup/httpServer.ts'

const database = await createTestDatabase()
let engine: Engine
let workflowBundle: WorkflowBundleOption
/** Of the one domain. */
let checks = 0
/** Of the one schedule. */
let turns = 0
/** Of the one release. */
let pages = 0
/** Of the one job. */
let jobPages = 0

beforeAll(async () => {
  workflowBundle = await testBundle()
  engine = await startEngine(database, {
    workflowBundle,
    roles: ['executions', 'delivery'],
    around: () => ({
      checkDomain: async () => ({ next_ms: checks++ === 0 ? 20 : null }),
      turnSchedule: async () => ({ next_ms: [20, 0][turns++] ?? null }),
      releaseHeldPage: async () => ({ more: pages++ === 0 }),
      runJobPage: async () => ({ more: jobPages++ === 0 }),
    }),
  })
})
afterAll(() => engine?.stop())

const straight = design(
  { start: onEvent('began'), one: mail('One'), two: mail('Two'), end: ['exit', {}] },
  [
    ['start', 'one'],
    ['one', 'two'],
    ['two', 'end'],
  ],
)
const fails = design({ start: onEvent('began'), one: mail('One', { from: 'a@stranger.test' }) }, [
  ['start', 'one'],
])
const waits = (timeout?: string): TestDesign =>
  design(
    {
      start: onEvent('began'),
      pause: ['delay', { ms: 20 }],
      wait: ['wait_for_event', { event_name: 'went.on', ...(timeout ? { timeout } : {}) }],
      thanks: mail('Thanks'),
      sorry: mail('Sorry'),
    },
    [
      ['start', 'pause'],
      ['pause', 'wait'],
      ['wait', 'thanks', 'received'],
      ['wait', 'sorry', 'timeout'],
    ],
  )

const server = await createHttpServer()
const calls = design(
  {
    start: onEvent('began'),
    pause: ['delay', { ms: 20 }],
    ask: ['http_request', { method: 'GET', url: `${server.url}/` }],
    thanks: mail('Thanks'),
    sorry: mail('Sorry'),
  },
  [
    ['start', 'pause'],
    ['pause', 'ask'],
    ['ask', 'thanks', 'success'],
    ['ask', 'sorry', 'error'],
  ],
)

/** A lane whose count of lanes changes, and that ends. */
async function runLane(): Promise<string> {
  const workflowId = workflowIds.lane(0)
  const args: [DeliveryLaneInput] = [{ lane: 0, lanes: 1 }]
  const start = { workflowId, taskQueue: taskQueues.delivery, args }
  const handle = await engine.client.workflow.start(workflowTypes.deliveryLane, start)
  const runs = (activityId: string) =>
    eventually(async () => {
      const { raw } = await handle.describe()
      expect(raw.pendingActivities).toMatchObject([{ activityId, attempt: 1 }])
    })
  await runs('1')
  await handle.signal(signals.laneCount, 2)
  await runs('2')
  await handle.signal(signals.laneCount, 0)
  await handle.result()
  return workflowId
}

/** A domain that is checked on request, then by schedule, and then no more. */
async function runDomain(): Promise<string> {
  const workflowId = workflowIds.domain('dom_1')
  await engine.client.workflow.signalWithStart(workflowTypes.verifyDomain, {
    workflowId,
    taskQueue: taskQueues.executions,
    args: [{ domainId: 'dom_1' } satisfies VerifyDomainInput],
    signal: signals.checkNow,
    signalArgs: [],
  })
  await engine.client.workflow.getHandle(workflowId).result()
  return workflowId
}

/** A schedule that has a time, then members, then no time left. */
async function runSchedule(): Promise<string> {
  const input: RunScheduleInput = { workflowId: 'wf_1', nodeId: 'start' }
  const workflowId = workflowIds.schedule(input.workflowId, input.nodeId)
  await engine.client.workflow.signalWithStart(workflowTypes.runSchedule, {
    workflowId,
    taskQueue: taskQueues.executions,
    args: [input],
    signal: signals.scheduleChanged,
    signalArgs: [],
  })
  await engine.client.workflow.getHandle(workflowId).result()
  return workflowId
}

/** A release of two pages. */
async function runHeld(): Promise<string> {
  const input: ReleaseHeldInput = { workflowId: 'wf_1' }
  const workflowId = workflowIds.held(input.workflowId)
  const start = { workflowId, taskQueue: taskQueues.executions, args: [input] }
  await (await engine.client.workflow.start(workflowTypes.releaseHeld, start)).result()
  return workflowId
}

/** A job of two pages. */
async function runJob(): Promise<string> {
  const input: RunJobInput = { jobId: 'job_1' }
  const start = { workflowId: input.jobId, taskQueue: taskQueues.executions, args: [input] }
  await (await engine.client.workflow.start(workflowTypes.runJob, start)).result()
  return input.jobId
}

/** Each runs an execution of one shape, or a lane, a domain, a schedule, a release or a job, to its end and returns its id. */
const shapes: Record<string, () => Promise<string>> = {
  async straight() {
    const { id } = await engine.run(straight)
    await engine.ended(id, 'COMPLETED')
    return id
  },
  async failed() {
    const { id } = await engine.run(fails)
    await engine.ended(id, 'FAILED')
    return id
  },
  async received() {
    const { id, email } = await engine.run(waits('P1D'))
    await engine.waiting(id, 'wait')
    await engine.post('went.on', email)
    await engine.ended(id, 'COMPLETED')
    return id
  },
  async timeout() {
    const { id } = await engine.run(waits('PT1S'))
    await engine.ended(id, 'COMPLETED')
    return id
  },
  async cancelled() {
    const { id } = await engine.run(waits())
    await engine.waiting(id, 'wait')
    await engine.client.workflow.getHandle(id).cancel()
    await engine.ended(id, 'CANCELLED')
    return id
  },
  async cancelledWithReason() {
    const { id } = await engine.run(waits('P1D'))
    await engine.waiting(id, 'wait')
    const commands = { db: database.db, now, wake: () => engine.wake() }
    await cancelExecution(commands, engine.workspaceId, { executionId: id, reason: 'enough' })
    await engine.ended(id, 'CANCELLED')
    return id
  },
  async called() {
    const { id } = await engine.run(calls)
    await engine.ended(id, 'COMPLETED')
    return id
  },
  lane: runLane,
  domain: runDomain,
  schedule: runSchedule,
  held: runHeld,
  job: runJob,
}

test.each(Object.keys(shapes))('%s: recorded now, it replays', async (name) => {
  const id = (await shapes[name]?.()) ?? ''
  await replay(workflowBundle, await record(engine, name, id))
})

test('every golden history replays', async () => {
  const files = readdirSync(HISTORIES)
  expect(files).toEqual(expect.arrayContaining(Object.keys(shapes).map((name) => `${name}.json`)))
  for (const file of files) {
    await replay(workflowBundle, readHistory(file)).catch((err) => {
      throw new Error(`${file} does not replay: ${err}`)
    })
  }
})

test('a workflow function that decides differently fails the replay', async () => {
  const history = readHistory('received.json')
  const other = history.replace('"name": "runExecution"', '"name": "deliveryLane"')
  await expect(replay(workflowBundle, other)).rejects.toThrow(/nondeterminism/i)
})
