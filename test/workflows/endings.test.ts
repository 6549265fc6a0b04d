// How an execution ends before its time: cancelled with a reason, cancelled or terminated in the Web UI, failed.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelExecutions } from '../../db/executions/writes.ts'
import { createLog } from '../../runtime/log.ts'
import { sweep } from '../../worker/sweeper.ts'
import { cancelReasonSignal } from '../../workflows/messages.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { now } from '../setup/harness.ts'

const database = await createTestDatabase()
let engine: Engine

beforeAll(async () => {
  engine = await startEngine(database)
})
afterAll(() => engine?.stop())

const waiting = design(
  {
    start: onEvent('began'),
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
const atTheWait = ['start=default', 'hello=default', 'wait=null']

async function runToTheWait() {
  const execution = await engine.run(waiting)
  await engine.waiting(execution.id, 'wait')
  return execution
}

/** The event that it waited for changes nothing any more. */
async function expectNoFurtherStep({ id, email }: { id: string; email: string }) {
  await engine.post('went.on', email)
  await eventually(async () =>
    expect(await database.db.selectFrom('outbox').select('id').execute()).toEqual([]),
  )
  expect(await engine.steps(id)).toEqual(atTheWait)
  expect(await engine.subjects(id)).toEqual(['Hello'])
  const waits = database.db.selectFrom('event_waits').selectAll().where('execution_id', '=', id)
  expect(await waits.execute()).toEqual([])
}

const cancel = (executionId: string, reason: string) =>
  database.db
    .transaction()
    .execute((trx) => cancelExecutions(trx, engine.workspaceId, { executionId }, reason, now()))

test('cancelled during a wait: row and Temporal end, with the reason, and no step follows', async () => {
  const execution = await runToTheWait()
  expect(await cancel(execution.id, 'changed his mind')).toEqual([execution.id])
  engine.wake()
  const row = await engine.ended(execution.id, 'CANCELLED')
  expect(row).toMatchObject({
    cancellation_reason: 'changed his mind',
    current_step_id: 'wait',
    step_count: 3,
    error: null,
  })
  expect(row.completed_at).not.toBeNull()
  const { status } = await engine.client.workflow.getHandle(execution.id).describe()
  expect(status.name).toBe('CANCELLED')
  await expectNoFurtherStep(execution)
})

test('cancelled before it began: no step at all', async () => {
  await engine.stopStarter()
  const execution = await engine.run(waiting)
  expect(await cancel(execution.id, 'too soon')).toEqual([execution.id])
  engine.startStarter()
  const row = await engine.ended(execution.id, 'CANCELLED')
  expect(row).toMatchObject({ cancellation_reason: 'too soon', step_count: 0 })
  expect(await engine.steps(execution.id)).toEqual([])
})

test("cancelled by Temporal's own request: the workflow function closes the row", async () => {
  const execution = await runToTheWait()
  await engine.client.workflow.getHandle(execution.id).cancel()
  expect(await engine.ended(execution.id, 'CANCELLED')).toMatchObject({
    cancellation_reason: 'cancelled',
    current_step_id: 'wait',
    step_count: 3,
  })
  await expectNoFurtherStep(execution)
})

test('a reason that was signalled before the request is the one in the row', async () => {
  const execution = await runToTheWait()
  const handle = engine.client.workflow.getHandle(execution.id)
  await handle.signal(cancelReasonSignal, 'by the operator')
  await handle.cancel()
  const row = await engine.ended(execution.id, 'CANCELLED')
  expect(row.cancellation_reason).toBe('by the operator')
})

test('terminated in the Web UI: a sweep closes the row, once', async () => {
  const execution = await runToTheWait()
  const since = new Date(now().getTime() - 60_000)
  const deps = { db: database.db, client: engine.client, log: createLog('test', 'silent'), now }
  await engine.client.workflow.getHandle(execution.id).terminate('by hand')
  // Read before any sweep, it shows as what it is.
  expect(await engine.describe(execution.id)).toMatchObject({
    status: 'CANCELLED',
    terminated: true,
  })
  expect((await engine.row(execution.id)).ended_status).toBeNull()

  const row = await eventually(async () => {
    await sweep(deps, since)
    return engine.ended(execution.id, 'CANCELLED')
  })
  expect(row).toMatchObject({ cancellation_reason: 'terminated', step_count: 3 })
  await expectNoFurtherStep(execution)
  await sweep(deps, since)
  expect(await engine.row(execution.id)).toEqual(row)
})

test('a step that fails ends it FAILED, in Temporal too, with the text of the error', async () => {
  const { id } = await engine.run(
    design({ start: onEvent('fails'), send: mail('Never', { from: 'a@stranger.test' }) }, [
      ['start', 'send'],
    ]),
  )
  const row = await engine.ended(id, 'FAILED')
  expect(row.error).toContain('no domain of this workspace')
  const failure = await engine.client.workflow.result(id).catch((err: Error) => err)
  expect(failure).toMatchObject({ cause: { message: row.error, type: 'ExecutionFailed' } })
  expect(await engine.subjects(id)).toEqual([])
})
