// A segment decides by its own clock, not by that of Postgres.
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { findSegmentState } from '../../db/executions/segmentState.ts'
import { createTestDatabase } from '../setup/database.ts'
import { design, insertFlow, mail, onEvent, recordEvent } from '../setup/flows.ts'
import { newId, seedWorkspace } from '../setup/harness.ts'

const { db } = await createTestDatabase()
const workspace = await seedWorkspace(db)
const { workspaceId } = workspace
const EMAIL = 'ann@example.test'
const EXPIRES_AT = new Date('2031-05-06T07:08:09Z')

const flow = design({ start: onEvent('began'), hello: mail('Hello') }, [['start', 'hello']])

test('a suppression ends by the clock of the segment', async () => {
  await insertFlow(db, workspace, flow)
  const { executionIds } = await recordEvent(db, workspaceId, { eventName: 'began', email: EMAIL })
  const [executionId = ''] = executionIds
  await db
    .insertInto('suppressions')
    .values({
      workspace_id: workspaceId,
      email: EMAIL,
      reason: 'manual',
      source_id: newId('email'),
      created_at: new Date(),
      expires_at: EXPIRES_AT,
    })
    .execute()
  const suppressedAt = async (now: Date) => {
    const at = { executionId, segment: 0, waitedAt: '', hmac: Buffer.alloc(16), now }
    const find = () =>
      transact({ db, wake: () => {} }, ({ db: trx }) => findSegmentState(trx, workspaceId, at))
    return (await find()).suppressed
  }
  expect(await suppressedAt(new Date(EXPIRES_AT.getTime() - 1))).toBe(true)
  expect(await suppressedAt(EXPIRES_AT)).toBe(false)
})
