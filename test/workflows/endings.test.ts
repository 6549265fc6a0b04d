// Early ends of an execution: cancelled with a reason, cancelled or terminated in the Web UI, failed.
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelExecution } from '../../commands/executions/cancel.ts'
import { takeUnsubscribe } from '../../commands/unsubscribes/takeMail.ts'
import { signals } from '../../rules/wire.ts'
import { createLog } from '../../runtime/log.ts'
import { sweep } from '../../worker/sweeper.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { newId, now } from '../setup/harness.ts'

const database = await createTestDatabase()
let engine: Engine
const SOON = { deadline_ms: 90_000 }

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

/** The awaited event no longer changes anything. */
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

const addressMac = await addressMacOf(database.db)
const commands = { db: database.db, newId, now, addressMac, wake: () => {} }

const cancel = async (executionId: string, reason: string | null) => {
  const row = await cancelExecution(commands, engine.workspaceId, { executionId, reason })
  expect(row).toMatchObject({ id: executionId, ended_status: 'CANCELLED' })
}

/** Everything that Temporal stores of an execution: history, memo, attributes. */
async function keptByTemporal(id: string): Promise<string> {
  const handle = engine.client.workflow.getHandle(id)
  const [history, { raw }] = await Promise.all([handle.fetchHistory(), handle.describe()])
  const payloads = JSON.stringify([historyToJSON(history), raw], (_, value) =>
    value?.type === 'Buffer' ? Buffer.from(value.data).toString() : value,
  )
  // Payloads are base64 in the JSON of a history.
  const decoded = payloads.replace(/[A-Za-z0-9+/=]{8,}/g, (text) =>
    Buffer.from(text, 'base64').toString(),
  )
  return payloads + decoded
}

test('cancelled during a wait: the row has the reason, Temporal its code, and no step follows', async () => {
  const execution = await runToTheWait()
  await cancel(execution.id, 'changed their mind')
  engine.wake()
  const row = await engine.ended(execution.id, 'CANCELLED')
  expect(row).toMatchObject({
    cancellation_reason: 'changed their mind',
    current_step_id: 'wait',
    step_count: 3,
    error: null,
  })
  expect(row.completed_at).not.toBeNull()
  const { status } = await engine.client.workflow.getHandle(execution.id).describe()
  expect(status.name).toBe('CANCELLED')
  const { memo } = await engine.describe(execution.id)
  expect(memo).toMatchObject({ cancelled: 'cancelled', step: 'wait', step_count: 3, timer: '' })
  const kept = await keptByTemporal(execution.id)
  expect(kept).toContain(execution.workflowId)
  expect(kept).not.toContain('changed their mind')
  await expectNoFurtherStep(execution)
})

test('a reason that an earlier release left in the outbox stays in Postgres, too', async () => {
  await engine.stopStarter()
  const execution = await engine.run(waiting)
  await cancel(execution.id, 'an old friend of hers')
  await database.db
    .updateTable('outbox')
    .set({ payload: JSON.stringify({ reason: 'an old friend of hers' }) })
    .where('execution_id', '=', execution.id)
    .where('kind', '=', 'cancel')
    .execute()
  engine.startStarter()
  const row = await engine.ended(execution.id, 'CANCELLED')
  expect(row.cancellation_reason).toBe('an old friend of hers')
  expect((await engine.describe(execution.id)).memo?.cancelled).toBe('cancelled')
  expect(await keptByTemporal(execution.id)).not.toContain('an old friend')
})

test('unsubscribed: Temporal shows the code of the reason', async () => {
  const execution = await runToTheWait()
  const { unsubscribe_token } = await database.db
    .selectFrom('emails')
    .select('unsubscribe_token')
    .where('execution_id', '=', execution.id)
    .executeTakeFirstOrThrow()
  expect(await takeUnsubscribe(commands, unsubscribe_token ?? '')).toBe(true)
  engine.wake()
  const row = await engine.ended(execution.id, 'CANCELLED')
  expect(row.cancellation_reason).toBe('unsubscribed')
  expect((await engine.describe(execution.id)).memo?.cancelled).toBe('unsubscribed')
})

test('cancelled before it started: no step', async () => {
  await engine.stopStarter()
  const execution = await engine.run(waiting)
  await cancel(execution.id, 'too soon')
  engine.startStarter()
  const row = await engine.ended(execution.id, 'CANCELLED')
  expect(row).toMatchObject({ cancellation_reason: 'too soon', step_count: 0 })
  expect(await engine.steps(execution.id)).toEqual([])
})

test('cancelled in Temporal: the workflow function closes the row', async () => {
  const execution = await runToTheWait()
  await engine.client.workflow.getHandle(execution.id).cancel()
  expect(await engine.ended(execution.id, 'CANCELLED')).toMatchObject({
    cancellation_reason: 'cancelled',
    current_step_id: 'wait',
    step_count: 3,
  })
  expect((await engine.describe(execution.id)).memo?.cancelled).toBe('cancelled')
  await expectNoFurtherStep(execution)
})

test.each([
  ['contact_deleted', 'contact_deleted'],
  ['by the operator', 'cancelled'],
])('%s, signalled before the request, is in row and memo as %s', async (signalled, code) => {
  const execution = await runToTheWait()
  const handle = engine.client.workflow.getHandle(execution.id)
  await handle.signal(signals.cancelReason, signalled)
  await handle.cancel()
  const row = await engine.ended(execution.id, 'CANCELLED')
  expect(row.cancellation_reason).toBe(code)
  // A signal by hand is in the history, so the tests above would find it.
  expect(await keptByTemporal(execution.id)).toContain(signalled)
  expect((await engine.describe(execution.id)).memo?.cancelled).toBe(code)
})

test('terminated in the Web UI: a sweep closes the row, once', async () => {
  const execution = await runToTheWait()
  const since = new Date(now().getTime() - 60_000)
  const deps = { ...commands, client: engine.client, log: createLog('test', 'silent') }
  await engine.client.workflow.getHandle(execution.id).terminate('by hand')
  // Before any sweep it is already shown as cancelled.
  expect(await engine.describe(execution.id)).toMatchObject({
    status: 'CANCELLED',
    terminated: true,
  })
  expect((await engine.row(execution.id)).ended_status).toBeNull()

  const row = await eventually(async () => {
    await sweep(deps, since)
    const swept = await engine.row(execution.id)
    expect(swept.ended_status).toBe('CANCELLED')
    return swept
  })
  expect(row).toMatchObject({ cancellation_reason: 'terminated', step_count: 3 })
  await expectNoFurtherStep(execution)
  await sweep(deps, since)
  expect(await engine.row(execution.id)).toEqual(row)
})

test('a failing step ends it FAILED: the row has the text of the error, Temporal the node', async () => {
  const { id } = await engine.run(
    design({ start: onEvent('fails'), send: mail('Never', { from: 'a@stranger.test' }) }, [
      ['start', 'send'],
    ]),
  )
  const row = await engine.ended(id, 'FAILED')
  expect(row.error).toContain('no domain of this workspace')
  const failure = await engine.client.workflow.result(id).catch((err: Error) => err)
  const message = 'failed at node send; the API says why'
  expect(failure).toMatchObject({ cause: { message, type: 'ExecutionFailed' } })
  expect(await engine.subjects(id)).toEqual([])
})

test('values that the text of an error names do not reach Temporal, nor when a run is reset', async () => {
  const subject = '{% assign list = "a,b" | split: "," %}{{ list | where_exp: "x", contact.email }}'
  const email = '%secret@example.test'
  const failing = design({ start: onEvent('fails'), send: mail(subject) }, [['start', 'send']])
  const { id } = await engine.run(failing, email)
  const row = await engine.ended(id, 'FAILED')
  expect(row.error).toContain('%secret')
  expect(await keptByTemporal(id)).not.toContain('%secret')

  const handle = engine.client.workflow.getHandle(id)
  const { runId } = await handle.describe()
  const { events } = await handle.fetchHistory()
  const completed = events?.find((event) => event.workflowTaskCompletedEventAttributes)
  await engine.client.workflowService.resetWorkflowExecution({
    namespace: engine.namespace,
    workflowExecution: { workflowId: id, runId },
    workflowTaskFinishEventId: completed?.eventId ?? null,
    requestId: 'again',
    reason: 'test',
  })
  await eventually(async () => {
    const again = await handle.describe()
    expect(again.runId).not.toBe(runId)
    expect(again.status.name).toBe('FAILED')
  }, SOON)
  expect(await keptByTemporal(id)).not.toContain('%secret')
}, 120_000)
