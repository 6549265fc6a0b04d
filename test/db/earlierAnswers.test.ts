// Of the answers that an execution keeps by one name the latest alone is stored, however often the execution goes round.
import { expect, test } from 'vitest'
import { recordCall } from '../../commands/executions/recordCall.ts'
import { transact } from '../../commands/transact.ts'
import { insertCall, listAnswers } from '../../db/executions/calls.ts'
import { createTestDatabase } from '../setup/database.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'

const { db } = await createTestDatabase()
const { workspaceId } = await seedWorkspace(db)
const deps = { db, now, wake: () => undefined }

async function insertExecution(): Promise<string> {
  const id = newId('execution')
  const at = now()
  await db
    .insertInto('executions')
    .values({
      id,
      workspace_id: workspaceId,
      workflow_id: newId('workflow'),
      version: 1,
      contact_id: newId('contact'),
      email: `${id}@example.test`,
      trigger_node_id: 'start',
      created_at: at,
      updated_at: at,
    })
    .execute()
  return id
}

const begin = (executionId: string, segment: number, storeAs: string | null) =>
  transact(deps, ({ db: trx }) => {
    const call = { executionId, segment, nodeId: 'ask', storeAs, goalsReached: [], now: now() }
    return insertCall(trx, workspaceId, { ...call, request: Buffer.from('encrypted') })
  })

const attempt = (
  executionId: string,
  segment: number,
  end: Parameters<typeof recordCall>[2]['end'],
) => recordCall(deps, workspaceId, { executionId, segment, tries: 1, took_ms: 1, status: 200, end })

const success = (lap: number) => ({
  outcome: 'success' as const,
  why: '200',
  answer: { status: 200, body: lap },
})

const stored = async (executionId: string) => {
  const rows = await db
    .selectFrom('http_calls')
    .select(['segment', 'answer'])
    .where('execution_id', '=', executionId)
    .orderBy('segment')
    .execute()
  return rows.map(({ answer }) => answer?.['body'] ?? null)
}

const read = async (id: string) =>
  (await listAnswers(db, workspaceId, [id])).get(id)?.['crm']?.['body']

test('the answer of a lap takes the place of that of the lap before', async () => {
  const [id, other] = [await insertExecution(), await insertExecution()]
  await begin(other, 0, 'crm')
  await attempt(other, 0, success(10))
  await begin(id, 0, 'crm')
  await attempt(id, 0, success(1))
  await begin(id, 1, 'shop')
  await attempt(id, 1, success(2))
  await begin(id, 2, 'crm')
  // While it is under way, and tried again, the one before is read.
  await attempt(id, 2, null)
  expect(await read(id)).toBe(1)
  expect(await attempt(id, 2, success(3))).toBe(true)
  expect(await read(id)).toBe(3)
  expect(await stored(id)).toEqual([null, 2, 3])
  // One that is not kept says nothing about the others, and one that is over changes nothing.
  await begin(id, 3, null)
  await attempt(id, 3, { outcome: 'success', why: '200', answer: null })
  expect(await attempt(id, 2, success(4))).toBe(false)
  expect(await stored(id)).toEqual([null, 2, 3, null])
  // Nothing is read after a call that got no answer, so nothing is kept.
  await begin(id, 4, 'crm')
  await attempt(id, 4, { outcome: 'error', why: 'connection', answer: null })
  expect(await read(id)).toBeUndefined()
  expect(await stored(id)).toEqual([null, 2, null, null, null])
  expect(await stored(other)).toEqual([10])
})
