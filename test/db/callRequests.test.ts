// The request of a call that nobody makes any more, since its execution has ended, is forgotten in the commit of the end.
import { expect, test } from 'vitest'
import { cancelExecution } from '../../commands/executions/cancel.ts'
import { closeExecution } from '../../commands/executions/close.ts'
import { transact } from '../../commands/transact.ts'
import { insertCall } from '../../db/executions/calls.ts'
import { insertSegment } from '../../db/executions/segments.ts'
import { cancelExecutions } from '../../db/executions/writes.ts'
import type { EndedStatus } from '../../rules/states.ts'
import { createTestDatabase } from '../setup/database.ts'
import { design, insertFlow, onEvent } from '../setup/flows.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'

const { db } = await createTestDatabase()
const workspace = await seedWorkspace(db)
const { workspaceId } = workspace
const deps = { db, now, wake: () => undefined }
const workflowId = await insertFlow(
  db,
  workspace,
  design({ start: onEvent('begun'), end: ['exit', {}] }, [['start', 'end']]),
)
const request = Buffer.from('encrypted')

/** A live execution with a call that is answered, and one that is to be made. */
async function calling() {
  const id = newId('execution')
  const contactId = newId('contact')
  const at = now()
  await db
    .insertInto('executions')
    .values({
      id,
      workspace_id: workspaceId,
      workflow_id: workflowId,
      version: 1,
      contact_id: contactId,
      email: `${id}@example.test`,
      trigger_node_id: 'start',
      created_at: at,
      updated_at: at,
    })
    .execute()
  await transact(deps, async ({ db: trx }) => {
    const call = {
      executionId: id,
      nodeId: 'ask',
      storeAs: 'crm',
      goalsReached: [],
      request,
      now: at,
    }
    await insertCall(trx, workspaceId, { ...call, segment: 0 })
    await insertCall(trx, workspaceId, { ...call, segment: 1 })
  })
  const answered = {
    outcome: 'success',
    request: null,
    answer: JSON.stringify({ status: 200 }),
  } as const
  await db
    .updateTable('http_calls')
    .set(answered)
    .where('execution_id', '=', id)
    .where('segment', '=', 0)
    .execute()
  return { id, contactId }
}

const callsOf = (id: string) =>
  db
    .selectFrom('http_calls')
    .select(['segment', 'request', 'outcome', 'answer'])
    .where('execution_id', '=', id)
    .orderBy('segment')
    .execute()

type One = Awaited<ReturnType<typeof calling>>

const endBySegment = (status: EndedStatus) => (one: One) =>
  transact(deps, ({ db: trx }) =>
    insertSegment(trx, workspaceId, {
      executionId: one.id,
      segment: 2,
      result: {},
      steps: [],
      isReleased: false,
      left: null,
      waits: [],
      depth: 0,
      end: {
        status,
        stepId: 'ask',
        stepCount: 1,
        outcome: status === 'COMPLETED' ? 'max_duration' : null,
        error: status === 'FAILED' ? 'given up' : null,
        reason: null,
        code: null,
      },
      now: now(),
    }),
  )

const ways: Record<string, (one: One) => Promise<unknown>> = {
  'is cancelled': ({ id }) => cancelExecution(deps, workspaceId, { executionId: id, reason: null }),
  'is cancelled with the others of its contact': ({ contactId }) =>
    transact(deps, ({ db: trx }) =>
      cancelExecutions(
        trx,
        workspaceId,
        { workflowId, contactId },
        { code: 'unsubscribed', reason: 'unsubscribed' },
        now(),
      ),
    ),
  'ended in Temporal': ({ id }) => closeExecution(deps, id, { status: 'COMPLETED' }),
  'failed in Temporal': ({ id }) =>
    closeExecution(deps, id, { status: 'FAILED', error: 'timed out' }),
  'was terminated there': ({ id }) =>
    closeExecution(deps, id, { status: 'CANCELLED', code: 'terminated' }),
  'ends in a segment, as by max_duration': endBySegment('COMPLETED'),
  'fails in a segment': endBySegment('FAILED'),
  'cancels itself': endBySegment('CANCELLED'),
}

test.each(Object.entries(ways))('whose execution %s', async (_name, end) => {
  const [one, other] = [await calling(), await calling()]
  await end(one)
  expect(await callsOf(one.id)).toEqual([
    { segment: 0, request: null, outcome: 'success', answer: { status: 200 } },
    { segment: 1, request: null, outcome: null, answer: null },
  ])
  expect((await callsOf(other.id)).map((call) => call.request)).toEqual([null, request])
})
