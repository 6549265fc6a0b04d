// An execution is reset in the Web UI of Temporal: its new run goes on, or ends as its row has ended.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelExecution } from '../../commands/executions/cancel.ts'
import { closeExecution } from '../../commands/executions/close.ts'
import { memoKey } from '../../rules/wire.ts'
import { createLog } from '../../runtime/log.ts'
import { sweep } from '../../worker/sweeper.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { now } from '../setup/harness.ts'

const database = await createTestDatabase()
const SOON = { deadline_ms: 90_000 }
let engine: Engine

beforeAll(async () => {
  engine = await startEngine(database)
}, 60_000)
afterAll(() => engine?.stop())

const flow = design(
  {
    start: onEvent('x'),
    hello: mail('Hello'),
    wait: ['wait_for_event', { event_name: 'went.on' }],
    thanks: mail('Thanks'),
  },
  [
    ['start', 'hello'],
    ['hello', 'wait'],
    ['wait', 'thanks', 'received'],
  ],
)

const commands = { db: database.db, now, wake: () => engine.wake() }
const statusOf = async (id: string) =>
  (await engine.client.workflow.getHandle(id).describe()).status.name

async function runToTheWait() {
  const execution = await engine.run(flow)
  await eventually(() => engine.waiting(execution.id, 'wait'), SOON)
  return execution
}

/** Resets to the first task, as the Web UI does: the run is terminated, and another one begins. */
async function reset(id: string): Promise<void> {
  const { runId } = await engine.client.workflow.getHandle(id).describe()
  const { events } = await engine.client.workflow.getHandle(id, runId).fetchHistory()
  const first = events?.find((event) => event.workflowTaskCompletedEventAttributes)
  if (!first?.eventId) throw new Error('no task was completed')
  await engine.client.workflowService.resetWorkflowExecution({
    namespace: engine.namespace,
    workflowExecution: { workflowId: id, runId },
    reason: 'by hand',
    workflowTaskFinishEventId: first.eventId,
    requestId: `reset-${runId}`,
  })
}

/** Sweeps until Temporal lists a run of the execution that was terminated, and once more then. */
async function sweepAfterReset(id: string): Promise<void> {
  const deps = { ...commands, client: engine.client, log: createLog('test', 'silent') }
  await eventually(async () => {
    const query = `WorkflowId = '${id}' AND ExecutionStatus = 'Terminated'`
    const ended: string[] = []
    for await (const { runId } of engine.client.workflow.list({ query })) ended.push(runId)
    expect(ended).toHaveLength(1)
  }, SOON)
  await sweep(deps, new Date(now().getTime() - 600_000))
}

test('a sweep leaves the row of an execution alone that was reset; its new run goes on', async () => {
  const { id, email } = await runToTheWait()
  await reset(id)
  await sweepAfterReset(id)
  expect((await engine.row(id)).ended_status).toBeNull()
  await eventually(() => engine.waiting(id, 'wait'), SOON)
  await engine.post('went.on', email)
  await eventually(() => engine.ended(id, 'COMPLETED'), SOON)
  expect(await engine.subjects(id)).toEqual(['Hello', 'Thanks'])
}, 300_000)

test('a new run of a cancelled execution ends', async () => {
  const { id } = await runToTheWait()
  await cancelExecution(commands, engine.workspaceId, { executionId: id, reason: 'enough' })
  await eventually(() => engine.ended(id, 'CANCELLED'), SOON)
  await reset(id)
  await eventually(async () => expect(await statusOf(id)).toBe('CANCELLED'), SOON)
  expect((await engine.row(id)).cancellation_reason).toBe('enough')
  expect(await engine.subjects(id)).toEqual(['Hello'])
}, 300_000)

test('a new run of an execution that has cancelled itself ends', async () => {
  const leaving = design({ start: onEvent('x'), leave: ['unsubscribe', {}] }, [['start', 'leave']])
  const { id } = await engine.run(leaving)
  await eventually(() => engine.ended(id, 'CANCELLED'), SOON)
  await reset(id)
  await eventually(async () => expect(await statusOf(id)).toBe('CANCELLED'), SOON)
  const last = await engine.client.workflow.getHandle(id).describe()
  expect(last.memo).toMatchObject({ [memoKey]: { cancelled: 'unsubscribed' } })
}, 300_000)

test('a new run of an execution whose row has failed ends', async () => {
  const { id } = await runToTheWait()
  await engine.client.workflow.getHandle(id).terminate()
  await closeExecution(commands, id, { status: 'FAILED', error: 'timed out' })
  await reset(id)
  await eventually(async () => expect(await statusOf(id)).toBe('FAILED'), SOON)
}, 300_000)
